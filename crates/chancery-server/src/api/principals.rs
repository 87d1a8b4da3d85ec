//! Who there is.

use chancery_api::principals::{PRINCIPAL, PRINCIPALS, Principal, PrincipalShown};
use chancery_api::{Nothing, Page, PageQuery};

use super::page::{after, limit, page, told};
use super::{Answered, Call, Routes};
use crate::problem::{Fault, Problem};

pub(super) fn bind(routes: Routes) -> Routes {
    routes.on(&PRINCIPALS, list).on(&PRINCIPAL, show)
}

async fn list(call: Call<PageQuery, Nothing>) -> Result<Answered<Page<Principal>>, Problem> {
    let limit = limit(call.query.limit)?;
    let before: Option<String> = after(call.query.after.as_deref())?;
    let principals = call.store().principals_page(before.as_deref(), limit + 1).await?;
    Ok(page(principals, limit, |principal| principal.name.clone())?.into())
}

async fn show(call: Call<Nothing, Nothing>) -> Result<Answered<PrincipalShown>, Problem> {
    let name = call.text("name");
    let Some(principal) = call.store().principal(name).await? else {
        return Err(Problem::of(Fault::NotFound, "there is no such principal"));
    };
    let keys = call.store().signing_keys_of(name).await?;
    Ok(PrincipalShown { principal: told(principal)?, keys: told(keys)? }.into())
}
