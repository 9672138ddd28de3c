import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { type AuditAction, runWorkAlone } from '../src/audit/audit-log.ts'
import { describeMail } from '../src/messages/message-record.ts'
import { insertMessage } from '../src/messages/message-repository.ts'
import { addSigningKey } from '../src/use-cases/manage-signing-keys.ts'
import { type AuditWorld, createWithPasskey, newEmail } from './audit-world.ts'
import { enrolApp } from './authenticator-app.ts'
import { createSignedIn } from './signed-in.ts'
import { createSignedUp } from './signed-up.ts'

/** A change of an object, and its entries in addition to that of the operator. */
interface AuditedChange {
  readonly entries: readonly AuditAction[]
  /** Creates the object. @returns the last part of the path, or the arguments of the command */
  readonly of: (world: AuditWorld) => Promise<string>
}

const user = async ({ service }: AuditWorld): Promise<string> => (await createSignedIn(service)).user.id
const passkeyOwner = async (world: AuditWorld): Promise<string> => (await createWithPasskey(world)).user.id
const unconfirmed = async ({ service }: AuditWorld): Promise<string> =>
  (await createSignedUp(service.deps, { email_confirmed_at: null })).user.id
const key = async ({ service }: AuditWorld): Promise<string> => {
  const kid = randomUUID()
  await addSigningKey(service.deps, { alg: 'EdDSA', kid }, runWorkAlone)
  // Old enough that all clients have read the set of keys since.
  const made = sql<string>`clock_timestamp() - interval '1 hour'`
  await service.deps.db.updateTable('signing_keys').set({ created_at: made }).where('kid', '=', kid).execute()
  return kid
}
const since = '--since 2026-01-02T03:04:05Z'

/** The objects of operator changes, by the name of the endpoint. */
export const AUDITED_CHANGES: Readonly<Record<string, AuditedChange>> = {
  'put /operator/users/{userId}/ban': { entries: ['user_modified'], of: async (world) => `${await user(world)}/ban` },
  'delete /operator/users/{userId}/ban': {
    entries: ['user_modified'],
    of: async (world) => `${await user(world)}/ban`,
  },
  'delete /operator/users/{userId}/sessions': {
    entries: ['passkey_deleted'],
    of: async (world) => `${await passkeyOwner(world)}/sessions`,
  },
  'delete /operator/users/{userId}/sessions/{sessionId}': {
    entries: ['passkey_deleted'],
    of: async (world) => {
      const owner = await createWithPasskey(world)
      return `${owner.user.id}/sessions/${owner.sessionId}`
    },
  },
  'post /operator/users': { entries: ['user_signedup'], of: async () => '' },
  'put /operator/users/{userId}': { entries: ['user_modified'], of: user },
  'delete /operator/users/{userId}': { entries: ['user_deleted'], of: user },
  'post /operator/users/{userId}/confirmation': {
    entries: ['user_modified'],
    of: async (world) => `${await unconfirmed(world)}/confirmation`,
  },
  'put /operator/users/{userId}/console-role': {
    entries: ['user_modified', 'passkey_deleted'],
    of: async (world) => `${await passkeyOwner(world)}/console-role`,
  },
  'delete /operator/users/{userId}/factors/{factorId}': {
    entries: ['factor_deleted'],
    of: async ({ service }) => {
      const owner = await createSignedIn(service)
      return `${owner.user.id}/factors/${(await enrolApp(service, owner.headers)).factorId}`
    },
  },
  'post /operator/users/{userId}/secure': {
    entries: ['passkey_deleted'],
    of: async (world) => `${await passkeyOwner(world)}/secure`,
  },
  'post /operator/users/invitations': { entries: ['user_invited'], of: async () => 'invitations' },
  'post /operator/messages/{messageId}/resend': {
    entries: ['user_recovery_requested'],
    of: async ({ service }) => {
      const owner = await createSignedUp(service.deps)
      const messageId = randomUUID()
      const mail = { kind: 'RECOVERY', messageId, to: owner.email, userId: owner.user.id } as const
      await insertMessage(service.deps.db, describeMail(mail))
      return `${messageId}/resend`
    },
  },
  'post /operator/users/{userId}/sign-in-link': {
    entries: [],
    of: async (world) => `${await user(world)}/sign-in-link`,
  },
  'post /operator/keys': { entries: [], of: async () => '' },
  'post /operator/keys/{kid}/promotion': { entries: [], of: async (world) => `${await key(world)}/promotion` },
  'delete /operator/keys/{kid}': { entries: [], of: key },
}

/** The commands that write, with an example for each. */
export const AUDITED_COMMANDS: Readonly<Record<string, AuditedChange>> = {
  'keys add': { entries: ['operator.signing-keys.manage'], of: async () => '' },
  'keys promote': { entries: ['operator.signing-keys.manage'], of: async (world) => `${await key(world)} --now` },
  'keys retire': { entries: ['operator.signing-keys.manage'], of: key },
  'users assign-role': {
    entries: ['user_modified', 'passkey_deleted'],
    of: async (world) => `${await passkeyOwner(world)} viewer`,
  },
  'users ban': { entries: ['user_modified'], of: user },
  'users create': { entries: ['user_signedup'], of: async () => `--email ${newEmail()}` },
  'users delete': { entries: ['user_deleted'], of: user },
  'users import': { entries: ['users_imported'], of: async () => '' },
  'users invite': { entries: ['user_invited'], of: async () => newEmail() },
  'users link': {
    entries: ['user_recovery_requested'],
    of: async ({ service }) => (await createSignedIn(service)).email,
  },
  'users secure': {
    entries: ['operator.users.secure', 'passkey_deleted', 'factor_deleted'],
    of: async (world) => {
      const owner = await createWithPasskey(world)
      await enrolApp(world.service, owner.headers)
      return `${owner.user.id} ${since}`
    },
  },
  'users unban': { entries: ['user_modified'], of: user },
}
