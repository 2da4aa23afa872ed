"""What kedro-viz draws of a reader."""

from kedro.pipeline.preview_contract import MermaidPreview


def architecture_preview(benchmark: str, reader: str) -> MermaidPreview:
    """A reader's architecture on a benchmark as a Mermaid diagram, with the options of the base environment."""
    from coattend import readers
    from coattend.config import ReaderParameters
    from coattend.config.entries import answerable_tasks, reader_entry

    entry = ReaderParameters.model_validate(reader_entry(reader))
    head = readers.head_for(entry.reader, answerable_tasks(benchmark), entry.head)
    return MermaidPreview(content=readers.architecture(entry.reader, head=head, **entry.options))
