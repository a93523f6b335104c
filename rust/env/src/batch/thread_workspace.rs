use openoutcry_engine::{Book, DayOrder, StoreWorkspace, Workspace};

/// The scratch memory of a thread.
///
/// A workspace, and a book for an account that is stepped by `step_once`.
#[derive(Clone, Debug)]
pub(super) struct ThreadWorkspace {
    pub(super) workspace: Workspace,
    pub(super) book: Book,
    /// Scratch memory of accounts of many symbols.
    pub(super) scratch: StoreWorkspace,
    /// Scratch memory of the conditions of a lane.
    pub(super) conditions: Vec<DayOrder>,
    /// Buffered observations for streaming stores.
    pub(super) rows: Vec<f32>,
}
