"""From a data file to a release file that can be run: drafts, examinations, and made-up rows to rehearse on."""

from trasgo_lib.drafting.draft import FileForm, dataset_name, draft_text, read_form

__all__ = ["FileForm", "dataset_name", "draft_text", "read_form"]
