import type { Lanes } from '@trestle/database/lanes.ts'
import { prepare } from '@trestle/database/prepare.ts'
import { sql } from 'kysely'
import { prepareForCaller } from '../access/access-query.ts'
import type { Judged, Verdict } from '../access/admit.ts'
import type { Credentials } from '../access/caller.ts'
import type { Identity } from './app.ts'

/** A new app and the digest of its first key. */
export interface NewApp {
  readonly keyMac: Buffer
  readonly hint: string
  readonly name: string | undefined
}

const createQuery = prepare(
  'create_app',
  (p: NewApp) => sql<{ id: string }>`
    SELECT ${sql.table('create_app')}(${p.keyMac}, ${p.hint}, ${p.name}) AS id`,
)

/** Makes an app with its first key, and answers the app's id. */
export async function callCreateApp(lanes: Lanes, app: NewApp): Promise<string> {
  return (await lanes.write.one(createQuery, app)).id
}

const createInvitedQuery = prepare(
  'create_invited_app',
  (p: NewApp & { codeHash: Buffer }) => sql<{ id: string | null }>`
    SELECT ${sql.table('create_invited_app')}(${p.codeHash}, ${p.keyMac}, ${p.hint}, ${p.name}) AS id`,
)

/** The same, where the code of an invitation is good; it is used up. Undefined, and nothing is made, where it is not. */
export async function callCreateInvitedApp(lanes: Lanes, app: NewApp & { readonly codeHash: Buffer }) {
  return (await lanes.write.one(createInvitedQuery, app)).id ?? undefined
}

interface IdentityRow {
  verdict: Verdict
  id: string | null
  name: string | null
  email: string | null
  created: Date | null
}

const identityQuery = prepareForCaller(
  'read_identity',
  ({ fromCaller }) => sql<IdentityRow>`
    SELECT CASE WHEN c.identity_id IS NULL THEN 'unauthorized' ELSE 'done' END AS verdict, c.identity_id AS id,
      coalesce(a.name, u.name) AS name, u.email, coalesce(a.created, u.created) AS created
    ${fromCaller}
    LEFT JOIN ${sql.table('apps')} a ON a.id = c.identity_id
    LEFT JOIN ${sql.table('users')} u ON u.id = c.identity_id`,
)

/** The identity of a caller, or the verdict `unauthorized`. */
export async function readIdentity(
  lanes: Lanes,
  caller: Credentials,
): Promise<Judged & { readonly identity: Identity | undefined }> {
  const { verdict, id, name, email, created } = await lanes.read.one(identityQuery, caller)
  return {
    verdict,
    identityId: id,
    identity: id === null || created === null ? undefined : { id, name, email, created },
  }
}
