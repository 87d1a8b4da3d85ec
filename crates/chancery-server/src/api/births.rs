//! Tables under admission, and permits.

use chancery_api::births::{
    FAMILIES, Families, PERMIT, PERMITS, Permit, PermitShown, PermitsQuery, REQUEST_PERMITS,
    REVOKE_PERMIT, RequestPermits, Reserved, RevokePermit,
};
use chancery_api::id::PermitId;
use chancery_api::{Nothing, Page};
use chancery_engine::admission::{self, Object, REVOKING_CLASSES};
use chancery_engine::identity::acting_class;
use chancery_model::refusal::Code;
use chancery_store::birth::Permit as PermitRow;
use serde_json::json;

use super::common::{actions, made_id, refused};
use super::page::{after_time, limit, page, told};
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes
        .on(&FAMILIES, families)
        .on(&PERMITS, permits)
        .on(&PERMIT, permit)
        .on(&REQUEST_PERMITS, request)
        .on(&REVOKE_PERMIT, revoke)
}

async fn families(call: Call<Nothing, Nothing>) -> Result<Answered<Families>, Problem> {
    Ok(Families { items: told(call.store().families().await?)? }.into())
}

async fn permits(call: Call<PermitsQuery, Nothing>) -> Result<Answered<Page<Permit>>, Problem> {
    let PermitsQuery { after, limit: most, collection, status } = &call.query;
    let (limit, after) = (limit(*most)?, after_time(after.as_deref())?);
    let read = call
        .store()
        .permit_page(collection.as_deref(), status.as_deref(), after.as_ref(), limit + 1)
        .await?;
    let place = |row: &PermitRow| (row.requested_at.clone(), row.permit_id);
    Ok(page(read, limit, place)?.into())
}

async fn permit(call: Call<Nothing, Nothing>) -> Result<Answered<PermitShown>, Problem> {
    let (store, id) = (call.store(), call.id::<PermitId>("permit")?.0);
    let Some(row) = store.permit(id).await? else {
        return Err(refused(store, Code::RB019, json!({ "permit_id": id })).await);
    };
    let shown =
        PermitShown { actions: actions(&call, "birth_permit", id).await?, permit: told(row)? };
    Ok(shown.into())
}

async fn request(call: Call<Nothing, RequestPermits>) -> Result<Answered<Reserved>, Problem> {
    let (store, body) = (call.store(), &call.body);
    let family = admission::family(store, &body.collection).await?;
    let class = match &body.actor_class {
        Some(class) => class.clone(),
        // Of who holds none that may, the door says so.
        None => admission::requesting_class(store, call.reader()).await?.unwrap_or_default(),
    };
    let object = |new: &chancery_api::births::NewObject| Object {
        collection: family.collection_name.clone(),
        code: new.code.clone(),
        name: new.name.clone(),
        species: new.species.clone(),
        role: new.role.clone(),
        payload: new.payload.clone(),
    };
    let objects: Vec<Object> = body.objects.iter().map(object).collect();
    let actor = call.actor().await?;
    let batch = made_id(&call, "birth_batch");
    let reserved = match (body.count, objects.as_slice()) {
        (Some(count), []) => {
            admission::batch_of(store, &actor, &class, &family, count, batch).await?
        }
        (None, [_, ..]) => {
            admission::batch(store, &actor, &class, &family, &objects, batch).await?
        }
        _ => return Err(Problem::of(Fault::RequestInvalid, "give objects, or their count")),
    };
    Ok(told::<Reserved>(reserved)?.into())
}

async fn revoke(call: Call<Nothing, RevokePermit>) -> Result<Answered<Permit>, Problem> {
    let (store, id) = (call.store(), call.id::<PermitId>("permit")?.0);
    // Nobody is asked to sign about what is not there.
    if store.permit(id).await?.is_none() {
        return Err(refused(store, Code::RB019, json!({ "permit_id": id })).await);
    }
    let RevokePermit { reason, actor_class } = &call.body;
    let class = match actor_class {
        Some(class) => class.clone(),
        None => acting_class(store, call.reader(), &REVOKING_CLASSES).await?,
    };
    let actor = call.actor().await?;
    let report = admission::revoke(store, &actor, &class, id, reason).await?;
    Ok(told::<Permit>(report)?.into())
}
