import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, open, stat, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { commandGroup, type Operator } from '@trestle/common/commands/operator-command.ts'
import { printable } from '@trestle/common/lifecycle/printable.ts'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { OperatorDeps } from '../deps.ts'
import { IMPORT_TEXTS } from '../field-errors.ts'
import { decodeBase64, type FirebaseParameters } from '../passwords/stored-hash.ts'
import { exportUsers, type ImportSummary, importUsers } from '../use-cases/transfer-users.ts'
import {
  addVerified,
  FOREIGN_SOURCES,
  type ForeignSource,
  type ForeignUser,
  findContest,
  isPasswordLeft,
  noVerifiedAddresses,
  type VerifiedAddresses,
} from '../users/foreign-user.ts'
import { toForeignUser } from '../users/foreign-users.ts'
import type { LeftOut } from '../users/imported-user.ts'
import { type Line, readForeignUsers, readLines } from '../users/read-foreign-users.ts'
import { manageUsers } from './manage-users.ts'
import { COMMAND_ADMIN } from './operator-deps.ts'

export interface UsersCommandOptions extends TransferOptions {
  readonly operator: Operator<OperatorDeps>
}

export function usersCommand(options: UsersCommandOptions): Command {
  const description = 'list, make, change, invite, move and delete users'
  const command = commandGroup(options.operator, 'users', description, manageUsers)
  addTransferCommands(command, options)
  return command
}

export interface TransferOptions {
  readonly operator: Pick<Operator<OperatorDeps>, 'open'>
  readonly now: () => Date
  readonly stdin: AsyncIterable<Buffer>
  readonly stdout: NodeJS.WritableStream
  /** Prints a line for the operator, in addition to the result. */
  readonly report: (line: string) => void
}

interface ImportFlags {
  readonly from?: ForeignSource
  readonly dryRun?: true
  readonly firebaseSignerKey?: string
  readonly firebaseSaltSeparator?: Buffer
  readonly firebaseRounds: number
  readonly firebaseMemCost: number
}

interface ImportRun {
  readonly file: string | undefined
  readonly flags: ImportFlags
  readonly firebase: FirebaseParameters | undefined
}

/** An environment variable instead of an option, because other users of the machine can list its processes. */
const SIGNER_KEY = 'FIREBASE_SIGNER_KEY'

/** Adds `import`, which fails if a line is refused, and `export` to `auth users`. */
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
    .addOption(
      new Option('--firebase-signer-key <base64>', 'of the project that Firebase hashes come from').env(SIGNER_KEY),
    )
    .option('--firebase-salt-separator <base64>', '″', base64)
    .option('--firebase-rounds <number>', '″', integer, 8)
    .option('--firebase-mem-cost <number>', '″', integer, 14)
    .action((file: string | undefined, flags: ImportFlags, importing: Command) => {
      const firebase = readFirebaseParameters(flags, importing)
      return withDeps((deps) => runImport(deps, { file, flags, firebase }, options))
    })
  command
    .command('export [file]')
    .description('write all users, with the hashes of their passwords, to a new file (or to standard output)')
    .action((file: string | undefined) =>
      withDeps((deps) => {
        // The file contains hashes, so only its owner may read it. It never replaces an existing file.
        const target = isNamed(file) ? createWriteStream(file, { flags: 'wx', mode: 0o600 }) : stdout
        return pipeline(exportUsers(deps), target, { end: target !== stdout })
      }),
    )
}

/** The reasons why a member of a line is left out. */
const LEFT_OUT: Readonly<Record<LeftOut, string>> = {
  email: 'is not confirmed',
  phone: 'is not confirmed',
  password: 'belongs to an invitation that nobody has accepted',
}

async function runImport(
  deps: Pick<OperatorDeps, 'config' | 'db' | 'logger' | 'names' | 'now'>,
  { file, flags, firebase }: ImportRun,
  { now, stdin, stdout, report }: TransferOptions,
): Promise<void> {
  const named = isNamed(file) ? file : undefined
  let unread = 0
  const leftOut = { address: 0, password: 0 }
  const onUnread = (number: number, reason: string) => {
    unread += 1
    report(`user ${number}: ${printable(reason)}`)
  }
  const summary = await importUsers(deps, {
    admin: COMMAND_ADMIN,
    lines:
      flags.from === undefined
        ? readLines(named === undefined ? stdin : createReadStream(named))
        : readForeign(() => openRepeatable(named, stdin), flags.from, {
            report,
            onUnread,
            verified: noVerifiedAddresses(deps.config.compatibility),
          }),
    mode: flags.dryRun ? 'judge' : 'store',
    firebase,
    now: now(),
    onRefused: (number, reason) => report(`line ${number}: ${printable(reason)}`),
    onAdmin: (number, role) =>
      report(`line ${number}: the user has the role ${printable(role)}, which makes them an admin`),
    onLeftOut: (number, member) => {
      leftOut[member === 'password' ? 'password' : 'address'] += 1
      report(`line ${number}: the ${member} ${LEFT_OUT[member]}, and is left out`)
    },
    onProgress: (soFar, number) => report(`line ${number}: ${describe(soFar)}`),
  })
  const refused = summary.refused + unread
  if (leftOut.address > 0) report(`unconfirmed second addresses that are left out: ${leftOut.address}`)
  if (leftOut.password > 0) report(`passwords of open invitations that are left out: ${leftOut.password}`)
  if (summary.ignored.length > 0) report(`members that mean nothing here: ${summary.ignored.map(printable).join(', ')}`)
  stdout.write(`${flags.dryRun ? 'nothing changed; would be: ' : ''}${describe({ ...summary, refused })}\n`)
  if (refused > 0) throw new Error(`${refused} lines were refused`)
}

/**
 * Yields the users of an export as lines. Reports the members that users lack and, at the end, the number of users of each kind.
 * The export is read twice, because a user who has verified an address may come after a user who has not.
 */
async function* readForeign(
  openInput: () => Promise<RepeatableInput>,
  source: ForeignSource,
  {
    report,
    onUnread,
    verified,
  }: {
    readonly report: (line: string) => void
    readonly onUnread: (n: number, reason: string) => void
    readonly verified: VerifiedAddresses
  },
): AsyncGenerator<Line> {
  const input = await openInput()
  const counts = new Map<string, number>()
  let withoutPassword = 0
  try {
    await readVerified(input, source, verified)
    for await (const { number, user } of readForeignUsers(source, input.read())) {
      const read = readForeignUser(source, user)
      const reason = typeof read === 'string' ? read : findContest(verified, read.line)
      if (reason !== undefined || typeof read === 'string') {
        onUnread(number, reason ?? '')
        continue
      }
      for (const what of read.left) {
        counts.set(what, (counts.get(what) ?? 0) + 1)
        report(`user ${number} does not bring ${printable(what)}`)
      }
      if (read.line.password_hash === undefined && !read.left.some(isPasswordLeft)) withoutPassword += 1
      yield { number, bytes: read.bytes }
    }
  } finally {
    await input.close()
  }
  for (const [what, count] of counts) report(`cannot be moved: ${printable(what)} (${count} in all)`)
  if (withoutPassword > 0) report(`users without a password in the export: ${withoutPassword}`)
}

async function readVerified(input: RepeatableInput, source: ForeignSource, verified: VerifiedAddresses): Promise<void> {
  for await (const { user } of readForeignUsers(source, input.read())) {
    const read = readForeignUser(source, user)
    if (typeof read !== 'string') addVerified(verified, read.line)
  }
}

/** Returns a user of an export with the line in bytes, or a text with the reason why the line cannot be read. */
function readForeignUser(source: ForeignSource, user: unknown): (ForeignUser & { readonly bytes: Buffer }) | string {
  if (user === undefined) return IMPORT_TEXTS.lineTooLong
  try {
    const read = toForeignUser(source, user)
    return { ...read, bytes: Buffer.from(JSON.stringify(read.line)) }
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

/** Option parsers would print the secret in their errors. @throws CommanderError if the text is not base64 */
function readFirebaseParameters(flags: ImportFlags, command: Command): FirebaseParameters | undefined {
  const { firebaseSignerKey, firebaseSaltSeparator = Buffer.alloc(0), firebaseRounds, firebaseMemCost } = flags
  if (!firebaseSignerKey) return undefined
  const signerKey =
    decodeBase64(firebaseSignerKey) ??
    command.error(`error: option '--firebase-signer-key <base64>', or ${SIGNER_KEY}, must be base64`)
  return {
    signerKey,
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

const PIECE_BYTES = 65_536

/** Bytes that can be read more than once. */
export interface RepeatableInput {
  /** Reads from the beginning. Only one reading may run at a time. */
  readonly read: () => AsyncIterable<Buffer>
  readonly close: () => Promise<void>
}

/**
 * Opens a file or standard input. Standard input and pipes are copied to the disk. The copy has no name, so it disappears with
 * the process in any case.
 * @param file `undefined` for standard input
 * @throws Error if the file does not exist, or the folder of temporary files is full
 */
export async function openRepeatable(file: string | undefined, stdin: AsyncIterable<Buffer>): Promise<RepeatableInput> {
  if (file === undefined) return copy(stdin)
  return (await stat(file)).isFile() ? toInput(await open(file)) : copy(createReadStream(file))
}

function toInput(handle: FileHandle): RepeatableInput {
  return { read: () => readFromStart(handle), close: () => handle.close() }
}

/** Reads without a stream of the handle, because such a stream closes the handle or does not end. */
async function* readFromStart(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.allocUnsafe(PIECE_BYTES), position })
    if (bytesRead === 0) return
    position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Only the owner may read the copy, because it may contain password hashes. */
async function copy(chunks: AsyncIterable<Buffer>): Promise<RepeatableInput> {
  const path = join(tmpdir(), `auth-import-${randomUUID()}`)
  const handle = await open(path, 'wx+', 0o600)
  try {
    await unlink(path)
    await handle.writeFile(chunks)
  } catch (error) {
    await handle.close()
    throw error
  }
  return toInput(handle)
}
