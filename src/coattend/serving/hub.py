"""The Hugging Face Hub, where readers are given to others."""

from pathlib import Path

from coattend.errors import CoattendError

LOG_IN = "Log in with `hf auth login`, or set HF_TOKEN, as a user who may write there"


def upload(folder: Path, to: str, *, private: bool) -> str:
    """Send a folder to the Hub, as whom its library is logged in.

    Args:
        folder: The folder.
        to: The repository, ``<user>/<name>``; made if it is not there.
        private: Whether it is then seen by its owner alone.

    Returns:
        The commit's address.

    Raises:
        CoattendError: If the Hub is out of reach, or refuses.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HTTPError

    api = HfApi(library_name="coattend")
    kept = f"The reader is written to {folder}; the same command sends it"
    try:
        api.create_repo(to, private=private, exist_ok=True)
        return api.upload_folder(repo_id=to, folder_path=folder, commit_message="Share a reader").commit_url
    except HfHubHTTPError as error:
        refused = error.response is not None and error.response.status_code in (401, 403)
        raise _failed(f"the Hub refuses ({_first_line(error)})", to, f"{LOG_IN}. {kept}" if refused else kept) from None
    except ValueError as error:
        raise _failed(f"the Hub refuses ({_first_line(error)})", to, kept) from None
    except (HTTPError, OSError) as error:  # The first is what it raises where nobody answers.
        raise _failed(
            f"the Hub is out of reach ({_first_line(error)})", to, f"{kept} where there is a network"
        ) from None


def _failed(problem: str, to: str, cure: str) -> CoattendError:
    return CoattendError(problem, where=f"share.to {to}", cure=cure)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
