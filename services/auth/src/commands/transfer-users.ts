import { createReadStream, createWriteStream } from 'node:fs'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { Operator } from '@trestle/common/commands/operator-command.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import type { FirebaseParameters } from '../passwords/firebase-scrypt.ts'
import { decodeBase64 } from '../passwords/stored-hash.ts'
import { exportUsers } from '../use-cases/export-users.ts'
import { type ImportSummary, importUsers } from '../use-cases/import-users.ts'
import { FOREIGN_SOURCES, type ForeignSource, type ForeignUser, findContested } from '../users/foreign-user.ts'
import { listForeignUsers, toForeignUser } from '../users/foreign-users.ts'
import { type Line, readLines } from '../users/read-lines.ts'

/** Where `import` and `export` read, write and report. */
export interface TransferOptions {
  /** How the commands open the database. */
  readonly operator: Pick<Operator<OperatorDeps>, 'open'>
  readonly now: () => Date
  readonly stdin: AsyncIterable<Buffer>
  readonly stdout: NodeJS.WritableStream
  /** Prints a line for the operator, beside the result. */
  readonly report: (line: string) => void
}

interface ImportFlags {
  readonly from?: ForeignSource
  readonly dryRun?: true
  readonly firebaseSignerKey?: Buffer
  readonly firebaseSaltSeparator?: Buffer
  readonly firebaseRounds: number
  readonly firebaseMemCost: number
}

/**
 * Adds the commands that move users with the hashes of their passwords to `auth users`: `import`, which a refused line makes fail,
 * and `export`.
 */
export function addTransferCommands(command: Command, options: TransferOptions): void {
  const { operator, stdout } = options
  const withDeps = async (run: (deps: OperatorDeps) => Promise<void>) => {
    const deps = await operator.open()
    await run(deps).finally(() => deps.close())
  }
  command
    .command('import [file]')
    .description('add the users of a file (or of standard input) who are not there yet; may be run again at any time')
    .option('--dry-run', 'say what would happen, and change nothing')
    .addOption(new Option('--from <program>', 'read an export of another program').choices(FOREIGN_SOURCES))
    .option('--firebase-signer-key <base64>', 'of the project that Firebase hashes come from', base64)
    .option('--firebase-salt-separator <base64>', '″', base64)
    .option('--firebase-rounds <number>', '″', integer, 8)
    .option('--firebase-mem-cost <number>', '″', integer, 14)
    .action((file: string | undefined, flags: ImportFlags) =>
      withDeps((deps) => runImport(deps, { file, flags }, options)),
    )
  command
    .command('export [file]')
    .description('write all users, with the hashes of their passwords, to a new file (or to standard output)')
    .action((file: string | undefined) =>
      withDeps((deps) => {
        // The file holds hashes, so only its owner may read it. It never replaces an older export.
        const target = isNamed(file) ? createWriteStream(file, { flags: 'wx', mode: 0o600 }) : stdout
        return pipeline(exportUsers(deps), target, { end: target !== stdout })
      }),
    )
}

async function runImport(
  deps: Pick<OperatorDeps, 'config' | 'db' | 'names'>,
  { file, flags }: { readonly file: string | undefined; readonly flags: ImportFlags },
  { now, stdin, stdout, report }: TransferOptions,
): Promise<void> {
  const chunks = isNamed(file) ? createReadStream(file) : stdin
  let unread = 0
  const onUnread = (number: number, reason: string) => {
    unread += 1
    report(`user ${number}: ${printable(reason)}`)
  }
  const summary = await importUsers(deps, {
    lines: flags.from === undefined ? readLines(chunks) : readForeign(chunks, flags.from, { report, onUnread }),
    mode: flags.dryRun ? 'judge' : 'store',
    firebase: toFirebaseParameters(flags),
    now: now(),
    onRefused: (number, reason) => report(`line ${number}: ${printable(reason)}`),
    onAdmin: (number, role) =>
      report(`line ${number}: the user has the role ${printable(role)}, which makes them an admin`),
    onProgress: (soFar, number) => report(`line ${number}: ${describe(soFar)}`),
  })
  const refused = summary.refused + unread
  if (summary.ignored.length > 0) report(`members that mean nothing here: ${summary.ignored.map(printable).join(', ')}`)
  stdout.write(`${flags.dryRun ? 'nothing changed; would be: ' : ''}${describe({ ...summary, refused })}\n`)
  if (refused > 0) throw new Error(`${refused} lines were refused`)
}

/** The users of an export as lines. What a user does not bring is reported, and in the end how many users there are of each kind. */
async function* readForeign(
  chunks: AsyncIterable<Buffer>,
  source: ForeignSource,
  {
    report,
    onUnread,
  }: { readonly report: (line: string) => void; readonly onUnread: (n: number, reason: string) => void },
): AsyncGenerator<Line> {
  const users = listForeignUsers(source, await text(chunks)).map((user) => readForeignUser(source, user))
  const contested = findContested(users.map((user) => (typeof user === 'string' ? undefined : user.line)))
  const counts = new Map<string, number>()
  for (const [place, user] of users.entries()) {
    const number = place + 1
    const reason = typeof user === 'string' ? user : contested.get(place)
    if (reason !== undefined || typeof user === 'string') {
      onUnread(number, reason ?? '')
      continue
    }
    for (const what of user.left) {
      counts.set(what, (counts.get(what) ?? 0) + 1)
      report(`user ${number} does not bring ${printable(what)}`)
    }
    yield { number, bytes: Buffer.from(JSON.stringify(user.line)) }
  }
  for (const [what, count] of counts) report(`cannot be moved: ${printable(what)} (${count} in all)`)
}

/** A user of an export; a text says why they cannot be read. */
function readForeignUser(source: ForeignSource, user: unknown): ForeignUser | string {
  try {
    return toForeignUser(source, user)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function describe({ created, present, refused }: ImportSummary): string {
  return `${created} added, ${present} there already, ${refused} refused`
}

function isNamed(file: string | undefined): file is string {
  return file !== undefined && file !== '-'
}

function toFirebaseParameters(flags: ImportFlags): FirebaseParameters | undefined {
  const { firebaseSignerKey, firebaseSaltSeparator = Buffer.alloc(0), firebaseRounds, firebaseMemCost } = flags
  if (!firebaseSignerKey) return undefined
  return {
    signerKey: firebaseSignerKey,
    saltSeparator: firebaseSaltSeparator,
    rounds: firebaseRounds,
    memCost: firebaseMemCost,
  }
}

function base64(text: string): Buffer {
  const bytes = decodeBase64(text)
  if (!bytes) throw new InvalidArgumentError('It must be base64.')
  return bytes
}

function integer(text: string): number {
  if (!/^[1-9]\d{0,2}$/.test(text)) throw new InvalidArgumentError('It must be a number.')
  return Number(text)
}
