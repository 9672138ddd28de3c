import { listCommands, listWritingRoutes } from '@trestle/testing/list-writes.ts'
import { expect, it } from 'vitest'
import { otherCommands } from '../src/commands/other-commands.ts'
import { AUDITED_CHANGES, AUDITED_COMMANDS } from './audited-operators.ts'
import { AUDITED_ROUTES } from './audited-routes.ts'

// The tables of audited-acts.long.test.ts list what has an entry. That test compares the entries of each request.

const READ = 'changes nothing'
const SCHEMA = 'changes tables and functions. The table of migrations has what was applied, and when'
const FLOW = 'begins a flow, which ends by itself. The sign-in or the link at its end has an entry'
const CHALLENGE = 'stores a challenge, which ends by itself. Its use has an entry'

/** Routes with GET that write. */
const WRITING_READS = [
  'GET /authorize',
  'GET /callback',
  'GET /callback/{provider}',
  'GET /reauthenticate',
  'GET /user/identities/authorize',
  'GET /verify',
]

/** The reason why a writing route has no entry. */
const ROUTES_WITHOUT: Readonly<Record<string, string>> = {
  'GET /authorize': FLOW,
  'GET /user/identities/authorize': FLOW,
  'POST /passkeys/authentication/options': CHALLENGE,
  'POST /passkeys/registration/options': CHALLENGE,
}

/** The reason why a command has no entry. */
const COMMANDS_WITHOUT: Readonly<Record<string, string>> = {
  adopt: 'adopts a database. The record of the adoption has each step, and when',
  doctor: READ,
  import: 'imports a database. The record of the import has its source, and when',
  'keys list': READ,
  'keys reseal': 'seals the same secrets with another key. No secret changes',
  'migrate down': SCHEMA,
  'migrate drift': READ,
  'migrate plan': READ,
  'migrate status': READ,
  'migrate up': SCHEMA,
  token: 'signs a token, and stores nothing',
  'users export': READ,
  'users list': READ,
  'users sessions': READ,
  'users show': READ,
  version: READ,
  'warm-up': READ,
}

it('every route that writes has an entry in the audit log, or a reason', async () => {
  const routes = await listWritingRoutes(new URL('../../../docs/openapi/auth.json', import.meta.url), WRITING_READS)
  const ofOperators = Object.keys(AUDITED_CHANGES).map((name) => name.replace(/^\w+/, (verb) => verb.toUpperCase()))
  expect(routes).toEqual([...Object.keys(AUDITED_ROUTES), ...Object.keys(ROUTES_WITHOUT), ...ofOperators].sort())
})

it('every command has an entry in the audit log, or a reason', async () => {
  const load = () => {
    throw new Error('no command runs here')
  }
  const loaders = otherCommands({ load, now: () => new Date(0), process })
  const named = [...Object.keys(AUDITED_COMMANDS), ...Object.keys(COMMANDS_WITHOUT)]
  expect(await listCommands(loaders)).toEqual(named.sort())
})
