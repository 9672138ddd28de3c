import type { ReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { isJsonType, typeOfFileName, withCharset } from '../body/media-type.ts'
import { type ByteStream, fromIterator, fromWebStream, toBytes } from './byte-stream.ts'
import { RawJson } from './raw-json.ts'

/** The body of an answer. `undefined` if the answer has no body. */
export type Body = string | Uint8Array | ByteStream | undefined

export interface Encoded {
  readonly type: string | undefined
  readonly body: Body
}

/** The declared types of a value and its JSON codec. They decide how the value is encoded. */
export interface EncodeOptions {
  /** The media type that the handler or its declaration states. It applies to every value. */
  readonly type: string | undefined
  /** The media type that follows from the extension of the class. It applies to strings and bytes. */
  readonly extensionType: string | undefined
  readonly stringify: (value: unknown) => string | undefined
}

export const JSON_TYPE = 'application/json; charset=utf-8'
const BYTES_TYPE = 'application/octet-stream'

/**
 * Encodes the value that a handler returned (reference: Answers).
 * @throws TypeError for a function, a symbol or a circular object
 */
export function encode(value: unknown, options: EncodeOptions): Encoded | Promise<Encoded> {
  if (value === undefined) return { type: undefined, body: undefined }
  if (typeof value === 'string') return encodeText(value, options)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return encodeJson(value, options)
  if (isAsyncIterable(value)) return encodeIterator(value[Symbol.asyncIterator](), options)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return encodeJson(value, options)
  return encodeObject(value, options)
}

function encodeText(text: string, options: EncodeOptions): Encoded {
  const type = options.type ?? options.extensionType
  if (type === undefined || isJsonType(type)) return encodeJson(text, { ...options, type })
  return { type: withCharset(type), body: text }
}

function encodeJson(value: unknown, { type, stringify }: EncodeOptions): Encoded {
  return { type: type === undefined ? JSON_TYPE : withCharset(type), body: stringifyOrThrow(value, stringify) }
}

function stringifyOrThrow(value: unknown, stringify: EncodeOptions['stringify']): string {
  const text = value instanceof RawJson ? value.text : stringify(holdsCollection(value) ? plain(value) : value)
  if (text === undefined) throw new TypeError(`a ${typeof value} cannot be answered`)
  return text
}

function encodeObject(value: object, options: EncodeOptions): Encoded | Promise<Encoded> {
  if (value instanceof RawJson) return encodeJson(value, options)
  const bytesType = options.type ?? options.extensionType ?? BYTES_TYPE
  if (value instanceof Uint8Array) return { type: bytesType, body: value }
  if (value instanceof ArrayBuffer) return { type: bytesType, body: new Uint8Array(value) }
  if (value instanceof Blob) return encodeBlob(value, options.type)
  if (value instanceof ReadableStream) return { type: bytesType, body: fromWebStream(value) }
  if (isReadable(value)) {
    const fileType = isFileStream(value) ? typeOfFileName(String(value.path)) : undefined
    const type = options.type ?? (fileType === undefined ? bytesType : withCharset(fileType))
    return fromReadable(value).then((body) => ({ type, body }))
  }
  return encodeJson(value, options)
}

function encodeBlob(blob: Blob, type: string | undefined): Encoded {
  const named = 'name' in blob && typeof blob.name === 'string' ? typeOfFileName(blob.name) : undefined
  const ownType = blob.type === '' ? named : blob.type
  return { type: type ?? ownType ?? BYTES_TYPE, body: fromWebStream(blob.stream(), blob.size) }
}

/** Converts a stream of Node.js. The length of a file is known. The stream is always destroyed at the end. */
async function fromReadable(readable: Readable): Promise<ByteStream> {
  // The reader gets the error. If there is no reader, the error must not end the process.
  readable.on('error', () => {})
  const length = isFileStream(readable) ? await fileLength(readable) : undefined
  const iterator: AsyncIterator<unknown> = readable[Symbol.asyncIterator]()
  const next = async (): Promise<Uint8Array | undefined> => {
    const { done, value } = await iterator.next()
    return done ? undefined : toBytes(value)
  }
  return { length, next, close: () => void new Promise((resolve) => resolve(readable.destroy())).catch(() => {}) }
}

/** Returns whether a value is a stream of Node.js. Checks its methods, because libraries have their own classes of streams. */
function isReadable(value: object): value is Readable {
  return 'pipe' in value && typeof value.pipe === 'function' && Symbol.asyncIterator in value
}

/** Returns whether a value is a stream of `fs.createReadStream`. The file determines its length. */
function isFileStream(value: object): value is ReadStream {
  return isReadable(value) && 'bytesRead' in value && 'path' in value
}

async function fileLength(
  file: ReadStream & { fd?: unknown; start?: number; end?: number },
): Promise<number | undefined> {
  // A stream that is already destroyed emits no further event.
  if (typeof file.fd !== 'number' && !file.destroyed) {
    await new Promise<void>((resolve) => {
      for (const event of ['open', 'error', 'close']) file.once(event, () => resolve())
    })
  }
  const { fd, start = 0, end = Number.POSITIVE_INFINITY } = file
  if (typeof fd !== 'number' || file.destroyed) return undefined
  const { fstat } = process.getBuiltinModule('node:fs')
  return new Promise((resolve) => {
    fstat(fd, (error, stats) => {
      resolve(error === null && stats.isFile() ? Math.max(0, Math.min(end + 1, stats.size) - start) : undefined)
    })
  })
}

function encodeIterator(iterator: AsyncIterator<unknown>, options: EncodeOptions): Encoded {
  const { type = JSON_TYPE } = options
  const stringify = (value: unknown): string => stringifyOrThrow(value, options.stringify)
  const [essence = ''] = type.toLowerCase().split(';', 1)
  if (essence === 'text/event-stream') {
    return { type: withCharset(type), body: fromIterator(iterator, (value) => toEvent(value, stringify)) }
  }
  if (/^application\/(?:x-ndjson|jsonl)$/.test(essence)) {
    const line = (value: unknown): string | Uint8Array =>
      value instanceof Uint8Array ? value : `${stringify(value)}\n`
    return { type: withCharset(type), body: fromIterator(iterator, line) }
  }
  if (isJsonType(essence)) return { type: withCharset(type), body: jsonArray(iterator, stringify) }
  const chunk = (value: unknown): string | Uint8Array => (value instanceof Uint8Array ? value : String(value))
  return { type: withCharset(type), body: fromIterator(iterator, chunk) }
}

function jsonArray(iterator: AsyncIterator<unknown>, stringify: (value: unknown) => string): ByteStream {
  let before = '['
  const item = (value: unknown): string => {
    const text = before + stringify(value)
    before = ','
    return text
  }
  return fromIterator(iterator, item, () => (before === '[' ? '[]' : ']'))
}

/** Whether the values of an object are streamed. Excludes byte streams of Node.js or of the web. */
export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  if (typeof value !== 'object' || value === null || !(Symbol.asyncIterator in value)) return false
  return !(value instanceof ReadableStream) && !isReadable(value)
}

/**
 * Returns whether a value contains a Map, a Set or another collection, which `JSON.stringify` would lose. Most values contain no
 * collections and are not copied. A circular value overflows the stack here, but it would be refused later anyway.
 */
function holdsCollection(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(holdsCollection)
  const prototype: unknown = Object.getPrototypeOf(value)
  // Nearly all objects are literals, which need fewer checks.
  if (prototype === Object.prototype || prototype === null ? 'toJSON' in value : isJsonItself(value)) return false
  if (isCollection(value)) return true
  for (const name in value) if (holdsCollection(Reflect.get(value, name))) return true
  return false
}

/** Converts Maps to objects, and Sets, iterators and other collections to arrays, at any depth. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, plain(item)]))
  if (isCollection(value)) return Array.from(value, plain)
  if (isJsonItself(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}

/** Returns whether `JSON.stringify` treats an object in a special way: `toJSON`, boxed values, and `JSON.rawJSON`. */
function isJsonItself(value: object): boolean {
  return 'toJSON' in value || 'rawJSON' in value || [String, Number, Boolean].some((type) => value instanceof type)
}

function isCollection(value: object): value is Iterable<unknown> {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null || Array.isArray(value)) return false
  return Symbol.iterator in value && !isJsonItself(value)
}

const eventFields = new Set(['event', 'id', 'retry', 'data'])

/** Formats a server-sent event (reference: Server-sent events). */
function toEvent(value: unknown, stringify: (value: unknown) => string): string {
  if (!isFields(value)) return `${dataLines(value, stringify)}\n`
  const lines = ['event', 'id', 'retry'].flatMap((name) => {
    const field = value[name]
    // A line break would start another field.
    return field === undefined ? [] : [`${name}: ${String(field).replaceAll(/[\r\n\0]/g, '')}\n`]
  })
  return `${lines.join('')}${dataLines(value.data, stringify)}\n`
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || !('data' in value)) return false
  return Object.keys(value).every((key) => eventFields.has(key))
}

function dataLines(value: unknown, stringify: (value: unknown) => string): string {
  const text = typeof value === 'string' ? value : stringify(value)
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')
}
