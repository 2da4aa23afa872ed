"""What kedro-viz draws of a reader."""

from kedro.pipeline.preview_contract import MermaidPreview


def architecture_preview(reader: str) -> MermaidPreview:
    """A reader's architecture as a Mermaid diagram, with the options of the base environment."""
    from coattend import readers
    from coattend.configuration import reader_entry
    from coattend.parameters import ReaderParameters

    entry = ReaderParameters.model_validate(reader_entry(reader))
    return MermaidPreview(content=readers.architecture(entry.reader, head=entry.head, **entry.options))
