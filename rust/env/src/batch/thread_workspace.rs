use openoutcry_engine::{Book, StoreWorkspace, Workspace};

/// The scratch memory of a thread.
///
/// A workspace, and a book for an account that is stepped by `step_once`.
#[derive(Clone, Debug)]
pub(super) struct ThreadWorkspace {
    pub(super) workspace: Workspace,
    pub(super) book: Book,
    /// Scratch memory of accounts of many symbols.
    pub(super) scratch: StoreWorkspace,
    /// Buffered observations for streaming stores.
    pub(super) rows: Vec<f32>,
}
