import { pipeline } from 'node:stream/promises'
import { CsvError, parse as createCsvParser } from 'csv-parse'
import { getManyValues, isMany, none } from 'stream-chain/defs.js'
import { Assembler } from 'stream-json/core/assembler.js'
import { jsonParser, type Token, type TokenSource } from 'stream-json/core/parser.js'
import type { ForeignSource } from './foreign-user.ts'

/** An exported user as parsed JSON, with their number from 1. `user` is `undefined` if it exceeds the limit. */
export interface ExportedUser {
  readonly number: number
  readonly user: unknown
}

/** The maximum parts of an export in memory, in characters. */
export interface ExportLimits {
  /** The limit of a user: all names and values, plus 4 for each name, value, object and list. A longer user is skipped. */
  readonly user: number
  /** The limit of a single text, name or number. A longer one ends the import. */
  readonly value: number
}

const MEBI = 1_048_576
const LIMITS: ExportLimits = { user: MEBI, value: 64 * MEBI }
const TOKEN_CHARACTERS = 4

/**
 * Reads the users of an export of any size, one at a time. They are the `users` of Firebase or Keycloak, the `Users` of Cognito,
 * the lines or list of Auth0, or the rows of Clerk. An error may follow after some users.
 * @throws Error if the file is not such an export, or if a value is too long
 */
export async function* readForeignUsers(
  source: ForeignSource,
  chunks: AsyncIterable<Buffer>,
  limits: ExportLimits = LIMITS,
): AsyncGenerator<ExportedUser> {
  if (source === 'clerk') return yield* readRows(chunks, limits)
  const parse = jsonParser({ streamValues: false, jsonStreaming: source === 'auth0' })
  const finder = createFinder(source, limits.user)
  let unfinished = 0
  for await (const text of decode(chunks)) {
    const tokens = readTokens(parse, text)
    unfinished = tokens.length > 0 ? 0 : unfinished + text.length
    if (unfinished > limits.value) throw new Error(`a value has more than ${limits.value} characters`)
    yield* finder.find(tokens)
  }
  yield* finder.find(readTokens(parse, none))
  if (!finder.hasFound()) throw new Error(notOf(source))
}

/** Reads the rows of a CSV file as objects. */
async function* readRows(chunks: AsyncIterable<Buffer>, limits: ExportLimits): AsyncGenerator<ExportedUser> {
  const parser = createCsvParser({ bom: true, columns: true, skip_empty_lines: true, max_record_size: limits.value })
  let number = 0
  // If the texts fail, the rows fail too. When the rows end, the texts are closed.
  void pipeline(decode(chunks), parser).catch(() => {})
  try {
    for await (const row of parser) {
      if (!('id' in row && 'primary_email_address' in row)) throw new Error(notOf('clerk'))
      number += 1
      yield { number, user: Object.values(row).join('').length > limits.user ? undefined : row }
    }
  } catch (error) {
    throw error instanceof CsvError ? new Error('the file is not CSV') : error
  }
  if (number === 0) throw new Error(notOf('clerk'))
}

function notOf(source: ForeignSource): string {
  return `the file is no export of users of ${source}`
}

async function* decode(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const read = (chunk?: Buffer): string => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw new Error('the file is not UTF-8')
    }
  }
  for await (const chunk of chunks) yield read(chunk)
  yield read()
}

function readTokens(parse: TokenSource, text: string | typeof none): readonly Token[] {
  try {
    // The library expects `none` at the end of a text, but its type does not allow it.
    const tokens = (parse as (input: string | typeof none) => ReturnType<TokenSource>)(text)
    return isMany(tokens) ? getManyValues(tokens) : []
  } catch {
    throw new Error('the file is not JSON')
  }
}

interface Finder {
  /** Yields the users that end with one of the tokens. */
  readonly find: (tokens: readonly Token[]) => Generator<ExportedUser>
  /** Whether the document has a list of users. */
  readonly hasFound: () => boolean
}

interface OpenUser {
  readonly assembler: Assembler
  /** The length of the names and values read so far. */
  characters: number
}

/** The member of a document that contains the users. */
const USERS: Partial<Record<ForeignSource, string>> = { firebase: 'users', keycloak: 'users', cognito: 'Users' }

/** Creates a finder of the users in a document, based on its tokens. Skips users that are too long. */
function createFinder(source: ForeignSource, charactersMax: number): Finder {
  const atRoot = source === 'auth0' ? 0 : undefined
  /** The number of open objects and lists, and the number of those that enclose each user. */
  let [depth, usersDepth] = [0, atRoot]
  let [hasFound, number] = [atRoot !== undefined, 0]
  let member: string | undefined
  let open: OpenUser | undefined
  const enter = (token: Token): void => {
    const isUsers = token.name === 'startArray' && (depth === 0 || (depth === 1 && member === USERS[source]))
    if (token.name === 'keyValue' && depth === 1) member = token.value
    depth += stepOf(token)
    if (isUsers) [usersDepth, hasFound] = [depth, true]
    else if (usersDepth !== undefined && depth < usersDepth) usersDepth = depth === 0 ? atRoot : undefined
  }
  const addTo = (user: OpenUser, token: Token): ExportedUser | undefined => {
    user.characters += TOKEN_CHARACTERS + ('value' in token && typeof token.value === 'string' ? token.value.length : 0)
    if (user.characters <= charactersMax) user.assembler.consume(token)
    depth += stepOf(token)
    if (depth !== usersDepth) return undefined
    open = undefined
    number += 1
    return { number, user: user.characters <= charactersMax ? user.assembler.current : undefined }
  }
  return {
    *find(tokens) {
      for (const token of tokens) {
        const isBetween = depth !== usersDepth || stepOf(token) < 0 || (depth === 0 && token.name === 'startArray')
        if (open === undefined && isBetween) enter(token)
        else {
          open ??= { assembler: new Assembler(), characters: 0 }
          const user = addTo(open, token)
          if (user !== undefined) yield user
        }
      }
    },
    hasFound: () => hasFound,
  }
}

/** Returns how a token changes the number of open objects and lists. */
function stepOf({ name }: Token): number {
  if (name === 'startObject' || name === 'startArray') return 1
  return name === 'endObject' || name === 'endArray' ? -1 : 0
}

/** A line of a file with its number from 1. `bytes` is `null` if the line is too long. */
export interface Line {
  readonly number: number
  readonly bytes: Buffer | null
}

const NEWLINE = 0x0a
/** The limit of a request body. */
const BYTES_MAX = 1_048_576

/** Splits a byte stream into lines, with only one line in memory. Counts empty lines but skips them. */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line> {
  let number = 0
  let size = 0
  let pieces: Buffer[] = []
  const add = (piece: Buffer): void => {
    size += piece.length
    if (size <= BYTES_MAX) pieces.push(piece)
    else pieces = []
  }
  const finish = (): Line => {
    const line = { number: ++number, bytes: size > BYTES_MAX ? null : Buffer.concat(pieces) }
    size = 0
    pieces = []
    return line
  }
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, end))
      start = end + 1
      const line = finish()
      if (line.bytes === null || !isBlank(line.bytes)) yield line
    }
    add(chunk.subarray(start))
  }
  if (size > 0) yield finish()
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)
}
