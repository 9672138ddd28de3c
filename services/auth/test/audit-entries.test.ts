import { listCommands, listWritingRoutes, type Trace } from '@trestle/testing/list-writes.ts'
import { expect, it } from 'vitest'
import { isAuditAction } from '../src/audit/audit-log.ts'
import { otherCommands } from '../src/commands/other-commands.ts'
import { operatorEndpoints } from './operator-endpoints.ts'

const entries = (...actions: string[]): Trace => ({ entries: actions })
const reason = (text: string): Trace => ({ reason: text })

const FLOW = reason('begins a flow, which ends by itself. The sign-in or the link at its end has an entry')
const CHALLENGE = reason('stores a challenge, which ends by itself. Its use has an entry')
const READ = reason('changes nothing')
const SCHEMA = reason('changes tables and functions. The table of migrations has what was applied, and when')

const CODE = ['user_recovery_requested', 'user_confirmation_requested']
const SIGN_IN = ['login', 'user_signedup', 'invite_accepted']
const CONFIRMATION = [...SIGN_IN, 'user_modified', 'verification_failed']

/** Routes with GET that write. */
const WRITING_READS = [
  'GET /authorize',
  'GET /callback',
  'GET /reauthenticate',
  'GET /user/identities/authorize',
  'GET /verify',
]

/** The trace of each route that may write, but for those of operators. */
const ROUTES: Readonly<Record<string, Trace>> = {
  'DELETE /admin/custom-providers/{identifier}': entries('provider_deleted'),
  'DELETE /admin/users/{userId}': entries('user_deleted'),
  'DELETE /admin/users/{userId}/factors/{factorId}': entries('factor_deleted'),
  'DELETE /admin/users/{userId}/passkeys/{passkeyId}': entries('passkey_deleted'),
  'DELETE /factors/recovery-codes': entries('factor_unenrolled'),
  'DELETE /factors/{factorId}': entries('factor_unenrolled'),
  'DELETE /passkeys/{passkeyId}': entries('passkey_deleted'),
  'DELETE /user/identities/{identityId}': entries('identity_unlinked'),
  'GET /authorize': FLOW,
  'GET /callback': entries(...SIGN_IN, 'identity_linked'),
  'GET /reauthenticate': entries('user_reauthenticate_requested'),
  'GET /user/identities/authorize': FLOW,
  'GET /verify': entries(...CONFIRMATION),
  'PATCH /passkeys/{passkeyId}': entries('passkey_updated'),
  'POST /admin/custom-providers': entries('provider_created'),
  'POST /admin/generate_link': entries(...CODE, 'user_invited', 'user_modified'),
  'POST /admin/users': entries('user_signedup'),
  'POST /admin/users/{userId}': entries('user_signedup'),
  'POST /callback': entries(...SIGN_IN, 'identity_linked'),
  'POST /callback/{provider}': entries(...SIGN_IN, 'identity_linked'),
  'POST /factors': entries('factor_in_progress'),
  'POST /factors/recovery-codes': entries('factor_in_progress'),
  'POST /factors/recovery-codes/regenerate': entries('factor_updated'),
  'POST /factors/recovery-codes/verify': entries('verification_attempted', 'factor_verification_failed', 'logout'),
  'POST /factors/{factorId}/challenge': entries('challenge_created'),
  'POST /factors/{factorId}/verify': entries('verification_attempted', 'factor_verification_failed', 'logout'),
  'POST /invite': entries('user_invited'),
  'POST /logout': entries('logout'),
  'POST /magiclink': entries(...CODE),
  'POST /otp': entries(...CODE),
  'POST /passkeys/authentication/options': CHALLENGE,
  'POST /passkeys/authentication/verify': entries('login', 'login_failed'),
  'POST /passkeys/registration/options': CHALLENGE,
  'POST /passkeys/registration/verify': entries('passkey_created'),
  'POST /recover': entries('user_recovery_requested'),
  'POST /resend': entries('user_confirmation_requested'),
  'POST /signup': entries('user_signedup', 'user_confirmation_requested', 'user_repeated_signup'),
  'POST /token': entries('login', 'login_failed', 'logout', 'token_refreshed', 'token_revoked'),
  'POST /verify': entries(...CONFIRMATION),
  'PUT /admin/custom-providers/{identifier}': entries('provider_updated'),
  'PUT /admin/users/{userId}': entries('user_modified'),
  'PUT /admin/users/{userId}/factors/{factorId}': entries('factor_updated'),
  'PUT /user': entries('user_modified', 'user_updated_password', 'reauthentication_failed', 'logout'),
}

const COMMANDS: Readonly<Record<string, Trace>> = {
  adopt: reason('adopts a database. The record of the adoption has each step, and when'),
  doctor: READ,
  import: reason('imports a database. The record of the import has its source, and when'),
  'keys add': entries('operator.signing-keys.manage'),
  'keys list': READ,
  'keys promote': entries('operator.signing-keys.manage'),
  'keys reseal': reason('seals the same secrets with another key. No secret changes'),
  'keys retire': entries('operator.signing-keys.manage'),
  'migrate down': SCHEMA,
  'migrate drift': READ,
  'migrate plan': READ,
  'migrate status': READ,
  'migrate up': SCHEMA,
  token: reason('signs a token, and stores nothing'),
  'users assign-role': entries('user_modified'),
  'users ban': entries('user_modified'),
  'users create': entries('user_signedup'),
  'users delete': entries('user_deleted'),
  'users export': READ,
  'users import': entries('users_imported'),
  'users invite': entries('user_invited'),
  'users link': entries(...CODE, 'user_invited'),
  'users list': READ,
  'users secure': entries('operator.users.secure', 'passkey_deleted', 'factor_deleted'),
  'users sessions': READ,
  'users show': READ,
  'users unban': entries('user_modified'),
  version: READ,
  'warm-up': READ,
}

it('every route that writes has an entry in the audit log, or a reason', async () => {
  const routes = await listWritingRoutes(new URL('../../../docs/openapi/auth.json', import.meta.url), WRITING_READS)
  const ofOperators = operatorEndpoints.flatMap(({ name }) => {
    const [method = '', path = ''] = name.split(' ')
    return method === 'get' ? [] : [`${method.toUpperCase()} ${path}`]
  })
  // Each change of an operator is `operator.<action>`, as test/operator-roles.long.test.ts shows.
  expect(routes).toEqual([...Object.keys(ROUTES), ...ofOperators].sort())
})

it('every command has an entry in the audit log, or a reason', async () => {
  const load = () => {
    throw new Error('no command runs here')
  }
  const loaders = otherCommands({ load, now: () => new Date(0), process })
  expect(await listCommands(loaders)).toEqual(Object.keys(COMMANDS).sort())
})

it('every entry is an action of the audit log', () => {
  const traces = [...Object.values(ROUTES), ...Object.values(COMMANDS)]
  const actions = traces.flatMap((trace) => ('entries' in trace ? trace.entries : []))
  expect(actions.filter((action) => !isAuditAction(action))).toEqual([])
})
