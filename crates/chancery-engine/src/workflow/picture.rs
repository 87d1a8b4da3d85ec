//! Pictures of workflows: laid out once for each definition and way of looking at it, so that a definition, its runs and the changes of
//! it show every step in one place.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use chancery_model::layout::{Graph, Layout, Options, lay_out, union};
use chancery_store::Store;
use chancery_store::workflow::{Definitions, Pictured};

use crate::Error;

/// So many pictures are kept; the one that was made first goes first.
const KEPT: usize = 64;

/// What tells two pictures apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    base_sha256: Option<Vec<u8>>,
    shown_sha256: Vec<u8>,
    options: Options,
}

/// The pictures that were made lately. One of these serves a whole process.
#[derive(Debug, Default)]
pub struct Pictures {
    kept: Mutex<VecDeque<(Key, Arc<Layout>)>>,
}

impl Pictures {
    /// The picture of a workflow, of a run, or of a change beside what it changes; nothing when there is no such thing.
    ///
    /// # Errors
    /// When there is no answer, or a stored definition cannot be drawn.
    pub async fn of(
        &self,
        store: &Store,
        pictured: &Pictured,
        options: &Options,
    ) -> Result<Option<Arc<Layout>>, Error> {
        let Some(known) = store.pictured(pictured, false).await? else { return Ok(None) };
        if let Some(layout) = self.find(&key(&known, options)) {
            return Ok(Some(layout));
        }
        let Some(read) = store.pictured(pictured, true).await? else { return Ok(None) };
        let layout = Arc::new(draw(&read, options)?);
        // By what was read: a change may have been written meanwhile.
        self.keep(key(&read, options), Arc::clone(&layout));
        Ok(Some(layout))
    }

    /// The same as one reader may see it, and the digest of what is shown.
    ///
    /// # Errors
    /// When there is no answer, or a stored definition cannot be drawn.
    pub async fn seen(
        &self,
        store: &Store,
        pictured: &Pictured,
        reader: &str,
        options: &Options,
    ) -> Result<Option<(Arc<Layout>, Vec<u8>)>, Error> {
        let Some(known) = store.fn_definition_seen(pictured, reader, false).await? else {
            return Ok(None);
        };
        if let Some(layout) = self.find(&key(&known.definitions, options)) {
            return Ok(Some((layout, known.definitions.shown_sha256)));
        }
        let Some(read) = store.fn_definition_seen(pictured, reader, true).await? else {
            return Ok(None);
        };
        let (kept_as, digest) =
            (key(&read.definitions, options), read.definitions.shown_sha256.clone());
        // A large one takes a core for a while: others are served meanwhile.
        let (definitions, options) = (read.definitions, options.clone());
        let drawn = tokio::task::spawn_blocking(move || draw(&definitions, &options)).await;
        let layout = Arc::new(drawn.map_err(|error| Error::Picture(error.to_string()))??);
        self.keep(kept_as, Arc::clone(&layout));
        Ok(Some((layout, digest)))
    }

    fn find(&self, key: &Key) -> Option<Arc<Layout>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == key).map(|(_, layout)| Arc::clone(layout))
    }

    fn keep(&self, key: Key, layout: Arc<Layout>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| *known != key);
        kept.push_back((key, layout));
        while kept.len() > KEPT {
            kept.pop_front();
        }
    }
}

fn key(definitions: &Definitions, options: &Options) -> Key {
    Key {
        base_sha256: definitions.base_sha256.clone(),
        shown_sha256: definitions.shown_sha256.clone(),
        options: options.clone(),
    }
}

fn draw(definitions: &Definitions, options: &Options) -> Result<Layout, Error> {
    let graph = |definition: &Option<serde_json::Value>| {
        let definition = definition.as_ref().unwrap_or(&serde_json::Value::Null);
        Graph::of_definition(definition).map_err(|error| Error::Picture(error.to_string()))
    };
    let shown = graph(&definitions.shown)?;
    Ok(match &definitions.base_sha256 {
        Some(_) => lay_out(&union(&graph(&definitions.base)?, &shown), options),
        None => lay_out(&shown, options),
    })
}
