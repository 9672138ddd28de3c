import { pipeline } from 'node:stream/promises'
import { CsvError, parse as createCsvParser } from 'csv-parse'
import { getManyValues, isMany, none } from 'stream-chain/defs.js'
import { Assembler } from 'stream-json/core/assembler.js'
import { jsonParser, type Token, type TokenSource } from 'stream-json/core/parser.js'
import type { ForeignSource } from './foreign-user.ts'

/** A user of an export, as parsed JSON, and their place from 1. The user is undefined where they are longer than a limit. */
export interface ExportedUser {
  readonly number: number
  readonly user: unknown
}

/** How much of an export may be in memory at once, in characters. */
export interface ExportLimits {
  /** A user: the names and values, where each name, value, object and list counts 4 more. A longer user is left out. */
  readonly user: number
  /** One text, name or number. A longer one ends the reading. */
  readonly value: number
}

const MEBI = 1_048_576
const LIMITS: ExportLimits = { user: MEBI, value: 64 * MEBI }
const TOKEN_CHARACTERS = 4

/**
 * Reads the users of an export of any size, one at a time. They are the `users` of Firebase or Keycloak, the `Users` of Cognito,
 * the lines or the list of Auth0, or the rows of Clerk. An error may come after users.
 * @throws Error where the bytes are not such an export, or a value is too long
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

/** The rows of a CSV file, as objects of its columns. */
async function* readRows(chunks: AsyncIterable<Buffer>, limits: ExportLimits): AsyncGenerator<ExportedUser> {
  const parser = createCsvParser({ bom: true, columns: true, skip_empty_lines: true, max_record_size: limits.value })
  let number = 0
  // An error of the texts ends the rows, and the end of the rows closes the texts.
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
    // At the end of a text the library wants `none`. Its type does not say so.
    const tokens = (parse as (input: string | typeof none) => ReturnType<TokenSource>)(text)
    return isMany(tokens) ? getManyValues(tokens) : []
  } catch {
    throw new Error('the file is not JSON')
  }
}

interface Finder {
  /** The users that end with one of the tokens. */
  readonly find: (tokens: readonly Token[]) => Generator<ExportedUser>
  /** Whether there was a place for users. */
  readonly hasFound: () => boolean
}

interface OpenUser {
  readonly assembler: Assembler
  /** The length of the names and values of the user that were read so far. */
  characters: number
}

/** The member of a document that has the users. */
const USERS: Partial<Record<ForeignSource, string>> = { firebase: 'users', keycloak: 'users', cognito: 'Users' }

/** Creates a finder of the users of a document by its tokens. A user of excessive length is not kept. */
function createFinder(source: ForeignSource, charactersMax: number): Finder {
  const atRoot = source === 'auth0' ? 0 : undefined
  /** How many objects and lists are open, and how many of them are around each user. */
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

/** Returns by how much a token changes how many objects and lists are open. */
function stepOf({ name }: Token): number {
  if (name === 'startObject' || name === 'startArray') return 1
  return name === 'endObject' || name === 'endArray' ? -1 : 0
}

/** A line of a file, and its number from 1. The bytes are null where the line is too long. */
export interface Line {
  readonly number: number
  readonly bytes: Buffer | null
}

const NEWLINE = 0x0a
/** The limit of a request's body. */
const BYTES_MAX = 1_048_576

/** Splits a stream of bytes into lines, and holds one line at most. Counts empty lines, and leaves them out. */
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
