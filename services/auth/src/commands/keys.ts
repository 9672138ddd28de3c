import { randomUUID } from 'node:crypto'
import {
  type CommandInput,
  commandGroup,
  type Operator,
  type OperatorCommand,
  toCommand,
} from '@trestle/common/commands/operator-command.ts'
import type { Answer } from '@trestle/common/commands/table.ts'
import { parseDuration } from '@trestle/common/config/duration.ts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { JWKS_MAX_AGE_SECONDS, POLL_MS } from '../access-tokens/key-ring.ts'
import { KID, SIGNING_ALGORITHMS, type SigningAlgorithm, type SigningKeyStatus } from '../access-tokens/signing-key.ts'
import { findSigningKeyStatus, listSigningKeyStatus } from '../access-tokens/signing-key-repository.ts'
import { type RunWork, recordAudit } from '../audit/audit-log.ts'
import type { OperatorDeps } from '../deps.ts'
import { issueToken } from '../use-cases/issue-token.ts'
import {
  addSigningKey,
  type Promotion,
  promoteSigningKey,
  type Retirement,
  retireSigningKey,
  type TokensOfRetired,
} from '../use-cases/manage-signing-keys.ts'
import { reencryptSecrets } from '../use-cases/reencrypt-secrets.ts'
import { COMMAND_ADMIN, getUserId } from './operator-deps.ts'

/** Two polling intervals. Afterwards every process of the service knows a new key. */
const KNOWN_AFTER_SECONDS = (2 * POLL_MS) / 1_000

/** The command `keys list|add|promote|retire|reseal`. @param pause waits for the given milliseconds */
export function keysCommand(operator: Operator<OperatorDeps>, pause: (ms: number) => Promise<unknown>): Command {
  const description = 'list, add and rotate the keys of access tokens, and encrypt them and other secrets again'
  return commandGroup(operator, 'keys', description, commandsOf(operator.print, pause))
}

type Print = (line: string) => void

function commandsOf(print: Print, pause: (ms: number) => Promise<unknown>): readonly OperatorCommand<OperatorDeps>[] {
  return [
    {
      usage: 'list',
      isDefault: true,
      description: 'list every key, newest first (also without a word)',
      run: (deps, input) => list(deps, input, print),
    },
    {
      usage: 'add',
      description: 'make a new key that waits: published, not signing',
      options: [
        new Option('--alg <name>', 'algorithm').choices(SIGNING_ALGORITHMS).default('ES256'),
        ['--kid <kid>', 'key id, in every token that the key signs; default: a random one'],
      ],
      run: async (deps, { options, format }) => {
        const alg = SIGNING_ALGORITHMS.find((known) => known === options.alg) ?? 'ES256'
        const kid = String(options.kid ?? randomUUID())
        return answerChange(deps, { kid, format, lines: await add(deps, { alg, kid }) }, print)
      },
    },
    {
      usage: 'promote <kid>',
      description: 'sign with a waiting key; the one before verifies until its last token has expired',
      options: [['--now', 'do not wait until other services have read the new key set']],
      run: async (deps, { words: [kid = ''], options, format }) => {
        const wait = { print: format === 'json' ? () => undefined : print, pause }
        const lines = await (options.now ? promoteNow(deps, kid, wait) : promote(deps, kid))
        return answerChange(deps, { kid, format, lines }, print)
      },
    },
    {
      usage: 'retire <kid>',
      description: 'never sign with a key again; its tokens hold until they expire',
      options: [['--now', 'refuse its tokens at once: the key is known to others']],
      run: async (deps, { words: [kid = ''], options, format }) =>
        answerChange(deps, { kid, format, lines: await retire(deps, kid, options.now ? 'refuse' : 'keep') }, print),
    },
    {
      usage: 'reseal',
      description: 'encrypt all secrets in the database with AUTH_SECURITY_DATABASE_ENCRYPTION_KEY; may be repeated',
      run: (deps, { format }) => reseal(deps, format, print),
    },
  ]
}

/** The change of a key by a command, described in lines for a person. */
interface KeyChange extends Pick<CommandInput, 'format'> {
  readonly kid: string
  readonly lines: readonly string[]
}

/** Programs get the changed key as JSON. For a person, all lines except the last are printed, and the last line is the answer. */
async function answerChange(
  { db }: Pick<OperatorDeps, 'db'>,
  { kid, format, lines }: KeyChange,
  print: Print,
): Promise<Answer> {
  const key = format === 'json' && (await findSigningKeyStatus(db, kid))
  if (key) return keyForPrograms(key)
  for (const line of lines.slice(0, -1)) print(line)
  return lines.at(-1) ?? ''
}

async function list(
  { db }: Pick<OperatorDeps, 'db'>,
  { format }: Pick<CommandInput, 'format'>,
  print: Print,
): Promise<Answer> {
  const keys = await listSigningKeyStatus(db)
  if (format === 'json') return keys.map(keyForPrograms)
  const bySecret = 'AUTH_JWT_SECRET signs (HS256)'
  if (keys.length === 0) return bySecret
  if (!keys.some(({ state }) => state === 'active')) print(bySecret)
  return keys.map(describeKey)
}

function describeKey(key: SigningKeyStatus): object {
  const { kid, alg, state, createdAt } = key
  return { kid, state, alg, made: createdAt, verifies: describeEnd(key) }
}

function describeEnd({ retireAt, verifies }: Pick<SigningKeyStatus, 'retireAt' | 'verifies'>): string {
  if (!verifies) return 'no longer'
  return retireAt === null ? 'yes' : `until ${retireAt}`
}

function keyForPrograms({ kid, alg, state, createdAt, retireAt, verifies }: SigningKeyStatus): object {
  return { kid, alg, state, created_at: createdAt, retire_at: retireAt, verifies }
}

/** How a key was changed, for the audit log. `undefined` if nothing has changed. */
type KeyChanges = object | undefined

/** Records the change of a key by a command in the same way as a change by an operator (reference: Audit log). */
function recordKeyChange<Result>(kid: string, toChanges: (result: Result) => KeyChanges): RunWork<Result, Result> {
  return async (trx, deps, work) => {
    const result = await work()
    const changes = toChanges(result)
    if (changes === undefined) return result
    const action = 'signing-keys.manage'
    const traits = { action, object: { kind: 'signing-key', id: kid }, changes }
    await recordAudit(trx, deps, { action: `operator.${action}`, actor: COMMAND_ADMIN.actor, ip: '', traits })
    return result
  }
}

function toAddition(key: SigningKeyStatus | undefined): KeyChanges {
  return key && { algorithm: key.alg, state: 'next' }
}

function toPromotion({ verdict }: Promotion): KeyChanges {
  return verdict === 'promoted' ? { state: 'active' } : undefined
}

function toRetirement({ verdict }: Retirement): KeyChanges {
  return verdict === 'retired' ? { state: 'retired' } : undefined
}

async function add(
  deps: OperatorDeps,
  { alg, kid }: { readonly alg: SigningAlgorithm; readonly kid: string },
): Promise<readonly string[]> {
  if (!KID.test(kid)) throw new Error('--kid takes 1 to 128 letters, digits, dots, colons, _ and -')
  if (!(await addSigningKey(deps, { alg, kid }, recordKeyChange(kid, toAddition))))
    throw new Error(`the key id ${kid} is taken, and never given again`)
  return [`added ${kid} (${alg}); in ${JWKS_MAX_AGE_SECONDS / 60} minutes: auth keys promote ${kid}`]
}

async function promote(deps: OperatorDeps, kid: string): Promise<readonly string[]> {
  return describePromotion(
    kid,
    await promoteSigningKey(deps, { kid, ageSecondsMin: JWKS_MAX_AGE_SECONDS }, recordKeyChange(kid, toPromotion)),
  )
}

async function promoteNow(
  deps: OperatorDeps,
  kid: string,
  { print, pause }: { readonly print: Print; readonly pause: (ms: number) => Promise<unknown> },
): Promise<readonly string[]> {
  const input = { kid, ageSecondsMin: KNOWN_AFTER_SECONDS }
  let result = await promoteSigningKey(deps, input, recordKeyChange(kid, toPromotion))
  if (result.verdict === 'too-young') {
    print(`waiting ${result.waitSeconds} s, until every process knows ${kid}`)
    await pause(result.waitSeconds * 1_000)
    result = await promoteSigningKey(deps, input, recordKeyChange(kid, toPromotion))
  }
  return describePromotion(kid, result)
}

function describePromotion(kid: string, result: Promotion): readonly string[] {
  switch (result.verdict) {
    case 'promoted':
      return [
        `${kid} signs`,
        ...(result.retired ? [`${result.retired.kid} verifies until ${result.retired.until}`] : []),
      ]
    case 'active-already':
      return [`${kid} signs already`]
    case 'unknown':
      throw unknownKey(kid)
    case 'over':
      throw new Error(`${kid} is over: add another key`)
    case 'refused':
      throw new Error(`AUTH_JWT_VALID_METHODS must contain ${result.alg} before ${kid} can sign`)
    case 'too-young':
      throw new Error(
        `others may not have read ${kid} yet: wait ${result.waitSeconds} s, or let them refuse its tokens until then (--now)`,
      )
  }
}

async function retire(deps: OperatorDeps, kid: string, tokens: TokensOfRetired): Promise<readonly string[]> {
  const result = await retireSigningKey(deps, { kid, tokens }, recordKeyChange(kid, toRetirement))
  if (result.verdict === 'unknown') throw unknownKey(kid)
  if (result.verdict === 'in-use') throw new Error(`tokens of ${kid} may be valid`)
  if (result.verdict === 'retired-already') return [`${kid} is retired already`]
  return [
    result.until === undefined ? `${kid} is over` : `${kid} verifies until ${result.until}`,
    ...(result.wasActive ? ['AUTH_JWT_SECRET signs (HS256) until a key is promoted'] : []),
  ]
}

async function reseal(
  deps: Pick<OperatorDeps, 'db' | 'randomBytes' | 'encryptionKeys'>,
  format: CommandInput['format'],
  print: Print,
): Promise<Answer> {
  const keyId = deps.encryptionKeys.current.id
  const results = await reencryptSecrets(deps)
  const columns = results.map(({ place: { table, column }, encrypted: sealed }) => ({ table, column, sealed }))
  for (const { table, column, sealed } of format === 'json' ? [] : columns) {
    if (sealed > 0) print(`${table}.${column}: ${sealed} encrypted again`)
  }
  const left = results.reduce((sum, result) => sum + result.left, 0)
  if (left > 0) throw new Error(`${left} secrets were being changed meanwhile: run it again`)
  return format === 'json' ? { key_id: keyId, columns } : `every secret is encrypted with key ${keyId}`
}

function unknownKey(kid: string): Error {
  return new Error(`there is no key ${kid}`)
}

/** `auth token`: prints an access token for a role or a user. The token belongs to no session. */
export function tokenCommand(operator: Operator<OperatorDeps>): Command {
  return toCommand(operator, {
    usage: 'token',
    description: 'print an access token of a role (service_role calls /admin) or of a user; it cannot be taken back',
    options: [
      new Option('--role <role>', 'such as service_role or anon (default: service_role)')
        .argParser(readRole)
        .conflicts('user'),
      ['--user <user>', 'id, email or phone number of a user'],
      new Option('--expires-in <duration>', 'such as 90s, 12h or 8760h').argParser(readLifetime).default(3_600, '1h'),
    ],
    run: async (deps, { options: { role = 'service_role', user, expiresIn }, format }) => {
      // Load the stored keys only for a user's token. JWT_SECRET signs the token of a role.
      if (user !== undefined) await deps.signingKeys.load()
      const subject = typeof user === 'string' ? { userId: await getUserId(deps, user) } : { role: String(role) }
      const lifetimeSeconds = Number(expiresIn)
      const { accessToken, expiresAtSeconds } = await issueToken(deps, { subject, lifetimeSeconds })
      if (format === 'text') return accessToken
      return {
        access_token: accessToken,
        token_type: 'bearer',
        expires_in: lifetimeSeconds,
        expires_at: expiresAtSeconds,
      }
    },
  })
}

function readRole(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.')
  return text
}

function readLifetime(text: string): number {
  const seconds = Math.floor((parseDuration(text) ?? 0) / 1_000)
  if (seconds < 1) throw new InvalidArgumentError('It must be a duration such as 12h.')
  return seconds
}
