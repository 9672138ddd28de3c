import { randomUUID } from 'node:crypto'
import { printAnswer } from '@trestle/common/commands/print-answer.ts'
import type { Terminal } from '@trestle/common/commands/table.ts'
import { Command, Option } from 'commander'
import { POLL_MS } from '../access-tokens/key-ring.ts'
import { JWKS_MAX_AGE_SECONDS } from '../access-tokens/key-set.ts'
import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '../access-tokens/signing-key.ts'
import {
  findSigningKeyStatus,
  listSigningKeyStatus,
  type SigningKeyStatus,
} from '../access-tokens/signing-key-repository.ts'
import type { OperatorDeps } from '../deps.ts'
import { addSigningKey } from '../use-cases/add-signing-key.ts'
import { type Promotion, promoteSigningKey } from '../use-cases/promote-signing-key.ts'
import { resealSecrets } from '../use-cases/reseal-secrets.ts'
import { retireSigningKey, type TokensOfRetired } from '../use-cases/retire-signing-key.ts'

type Print = (line: string) => void

/** What `auth keys` works with: the database, the output, and a pause that tests can skip. */
export interface KeysCommandOptions {
  /** Runs an action with an open database. */
  readonly withDeps: (run: (deps: OperatorDeps) => Promise<void>) => Promise<void>
  readonly print: Print
  /** The terminal that shows the lines, if one does. */
  readonly terminal?: Terminal | undefined
  readonly pause: (ms: number) => Promise<unknown>
}

/** Two polls, after which every process of the service knows a new key. */
const KNOWN_AFTER_SECONDS = (2 * POLL_MS) / 1_000

/** The command `keys list|add|promote|retire|reseal`. Running processes follow within seconds. */
export function keysCommand(options: KeysCommandOptions): Command {
  const { withDeps, print } = options
  // Set this before the commands are added, because they inherit it. The exit code tells wrong usage from failures.
  const command = new Command('keys')
    .exitOverride()
    .description('list, add and rotate the keys of access tokens, and seal them and other secrets anew')
  command
    .command('list', { isDefault: true })
    .description('list every key, newest first (also without a word)')
    .option(...JSON_OPTION)
    .action(({ json }: JsonOption) => withDeps((deps) => (json ? listForPrograms(deps, print) : list(deps, options))))
  command
    .command('add')
    .description('make a new key that waits: published, not signing')
    .addOption(new Option('--alg <name>', 'algorithm').choices(SIGNING_ALGORITHMS).default('ES256'))
    .option('--kid <kid>', 'key id, in every token that the key signs; default: a random one')
    .option(...JSON_OPTION)
    .action(
      ({ alg, kid = randomUUID(), json }: { readonly alg: SigningAlgorithm; readonly kid?: string } & JsonOption) =>
        withDeps(async (deps) => printChange(deps, { kid, json, lines: await add(deps, { alg, kid }) }, print)),
    )
  command
    .command('promote <kid>')
    .description('sign with a waiting key; the one before verifies until its last token has expired')
    .option('--now', 'do not wait until everybody has read the key set anew')
    .option(...JSON_OPTION)
    .action((kid: string, { now, json }: { readonly now?: true } & JsonOption) =>
      withDeps(async (deps) => {
        const wait = json ? { ...options, print: () => undefined } : options
        const lines = await (now ? promoteNow(deps, kid, wait) : promote(deps, kid))
        await printChange(deps, { kid, json, lines }, print)
      }),
    )
  command
    .command('retire <kid>')
    .description('never sign with a key again; its tokens hold until they expire')
    .option('--now', 'refuse its tokens at once: the key is known to others')
    .option(...JSON_OPTION)
    .action((kid: string, { now, json }: { readonly now?: true } & JsonOption) =>
      withDeps(async (deps) =>
        printChange(deps, { kid, json, lines: await retire(deps, kid, now ? 'refused' : 'hold') }, print),
      ),
    )
  command
    .command('reseal')
    .description('seal all secrets in the database with AUTH_SECURITY_DATABASE_ENCRYPTION_KEY; may be repeated')
    .option(...JSON_OPTION)
    .action(({ json }: JsonOption) => withDeps((deps) => reseal(deps, json, print)))
  return command
}

const JSON_OPTION = ['--json', 'print one JSON document'] as const

interface JsonOption {
  readonly json?: true | undefined
}

/** What a command has done to a key, in lines for people. */
interface KeyChange extends JsonOption {
  readonly kid: string
  readonly lines: readonly string[]
}

/** Programs get the key as it is after the change. */
async function printChange({ db }: Pick<OperatorDeps, 'db'>, { kid, json, lines }: KeyChange, print: Print) {
  const key = json && (await findSigningKeyStatus(db, kid))
  for (const line of key ? printAnswer(keyForPrograms(key), 'json') : lines) print(line)
}

async function list(
  { db }: Pick<OperatorDeps, 'db'>,
  { print, terminal }: Pick<KeysCommandOptions, 'print' | 'terminal'>,
): Promise<void> {
  const keys = await listSigningKeyStatus(db)
  if (!keys.some(({ state }) => state === 'active')) print('AUTH_JWT_SECRET signs (HS256)')
  if (keys.length === 0) return
  for (const line of printAnswer(keys.map(describeKey), 'text', terminal)) print(line)
}

function describeKey({ kid, alg, state, createdAt, retireAt, verifies }: SigningKeyStatus): object {
  return { kid, state, alg, made: createdAt, verifies: describeEnd(retireAt, verifies) }
}

function describeEnd(retireAt: string | null, verifies: boolean): string {
  if (!verifies) return 'no longer'
  return retireAt === null ? 'yes' : `until ${retireAt}`
}

async function listForPrograms({ db }: Pick<OperatorDeps, 'db'>, print: Print): Promise<void> {
  const keys = await listSigningKeyStatus(db)
  for (const line of printAnswer(keys.map(keyForPrograms), 'json')) print(line)
}

function keyForPrograms({ kid, alg, state, createdAt, retireAt, verifies }: SigningKeyStatus): object {
  return { kid, alg, state, created_at: createdAt, retire_at: retireAt, verifies }
}

async function add(
  deps: Pick<OperatorDeps, 'config' | 'db' | 'randomBytes' | 'encryptionKeys'>,
  { alg, kid }: { readonly alg: SigningAlgorithm; readonly kid: string },
): Promise<readonly string[]> {
  if (!/^[\w.:-]{1,128}$/.test(kid)) throw new Error('--kid takes 1 to 128 letters, digits, dots, colons, _ and -')
  if (!(await addSigningKey(deps, { alg, kid }))) throw new Error(`the key id ${kid} is taken, and never given again`)
  return [`added ${kid} (${alg}); in ${JWKS_MAX_AGE_SECONDS / 60} minutes: auth keys promote ${kid}`]
}

async function promote(deps: Pick<OperatorDeps, 'config' | 'db'>, kid: string): Promise<readonly string[]> {
  return describePromotion(kid, await promoteSigningKey(deps, kid, JWKS_MAX_AGE_SECONDS))
}

async function promoteNow(
  deps: Pick<OperatorDeps, 'config' | 'db'>,
  kid: string,
  { print, pause }: Pick<KeysCommandOptions, 'print' | 'pause'>,
): Promise<readonly string[]> {
  let result = await promoteSigningKey(deps, kid, KNOWN_AFTER_SECONDS)
  if (result.verdict === 'too-young') {
    print(`waiting ${result.waitSeconds} s, until every process knows ${kid}`)
    await pause(result.waitSeconds * 1_000)
    result = await promoteSigningKey(deps, kid, KNOWN_AFTER_SECONDS)
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

async function retire(
  deps: Pick<OperatorDeps, 'config' | 'db'>,
  kid: string,
  tokens: TokensOfRetired,
): Promise<readonly string[]> {
  const result = await retireSigningKey(deps, kid, tokens)
  if (result.verdict === 'unknown') throw unknownKey(kid)
  if (result.verdict === 'retired-already') return [`${kid} is retired already`]
  return [
    result.until === undefined ? `${kid} is over` : `${kid} verifies until ${result.until}`,
    ...(result.wasActive ? ['AUTH_JWT_SECRET signs (HS256) until a key is promoted'] : []),
  ]
}

async function reseal(
  deps: Pick<OperatorDeps, 'db' | 'randomBytes' | 'encryptionKeys'>,
  json: true | undefined,
  print: Print,
): Promise<void> {
  const keyId = deps.encryptionKeys.current.id
  const results = await resealSecrets(deps)
  const columns = results.map(({ place: { table, column }, sealed }) => ({ table, column, sealed }))
  for (const { table, column, sealed } of json ? [] : columns) {
    if (sealed > 0) print(`${table}.${column}: ${sealed} sealed anew`)
  }
  const left = results.reduce((sum, result) => sum + result.left, 0)
  if (left > 0) throw new Error(`${left} secrets were being changed meanwhile: run it again`)
  const end = json ? printAnswer({ key_id: keyId, columns }, 'json') : [`every secret is sealed with key ${keyId}`]
  for (const line of end) print(line)
}

function unknownKey(kid: string): Error {
  return new Error(`there is no key ${kid}`)
}
