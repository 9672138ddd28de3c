import { fromWebStream } from '../answers/byte-stream.ts'
import { type Keywords, parseUrlEncoded } from '../binding/keywords.ts'
import { PROBLEM_TEXTS } from '../error-texts.ts'
import { CallError } from '../errors.ts'
import { type BodySource, decodeUtf8, limitedStream, tooLarge } from './body-source.ts'
import { type JsonCodec, parseJson } from './json.ts'
import { isJsonType, isUtf8, type MediaType, parseMediaType } from './media-type.ts'
import { type MultipartLimits, readForm } from './multipart.ts'

const POSITIONALS_MAX = 1_000

/** The arguments in a body: keywords, positionals, or neither if the body is absent. */
export interface DecodedBody {
  readonly keywords?: Keywords
  readonly positionals?: readonly unknown[]
}

/** How to decode a body to keywords or positionals. `bytesMax` limits the body as it arrives. */
export interface DecodeOptions {
  readonly use: 'keywords' | 'positionals'
  readonly bytesMax: number
  readonly json: JsonCodec
  readonly multipart: MultipartLimits
  /** Returns whether an empty field of a form counts as absent, by its name. */
  readonly absentIfEmpty: (name: string) => boolean
  readonly contentType: string | undefined
  readonly contentEncoding: string | undefined
}

/**
 * Decodes a body by its media type (reference: Request bodies). If the headers are not acceptable, refuses the body without
 * reading it. @throws CallError 400 malformed, 413 too large, 415 not supported
 */
export async function decodeBody(source: BodySource, options: DecodeOptions): Promise<DecodedBody> {
  if (source.length === 0) return {}
  if (source.length !== undefined && source.length > options.bytesMax) throw tooLarge(options.bytesMax)
  if (isForm(options)) {
    const body = fromWebStream(limitedStream(source.stream(), options.bytesMax))
    return { keywords: await readForm(body, options) }
  }
  const decode = decoderOf(options)
  // A body without a length may be empty, which is not an error.
  if (decode === undefined && source.length !== undefined) throw new CallError(415)
  const bytes = await source.read(options.bytesMax)
  if (bytes.byteLength === 0) return {}
  if (decode === undefined) throw new CallError(415)
  return decode(bytes)
}

type Decoder = (bytes: Uint8Array) => DecodedBody

/** Returns whether the body is a form. A form is read while it arrives, so that it is refused before it fills the memory. */
function isForm(options: DecodeOptions): boolean {
  return readableType(options)?.type === 'multipart/form-data'
}

/** Returns the media type if the charset and the encoding are supported. */
function readableType({ contentType = '', contentEncoding = 'identity' }: DecodeOptions): MediaType | undefined {
  const media = parseMediaType(contentType)
  const isPlain = contentEncoding.trim().toLowerCase() === 'identity'
  return media !== undefined && isPlain && isUtf8(media) ? media : undefined
}

function decoderOf(options: DecodeOptions): Decoder | undefined {
  const { use, json } = options
  const media = readableType(options)
  if (media === undefined) return undefined
  if (isJsonType(media.type)) return (bytes) => fromJson(parseJson(decodeUtf8(bytes), json), use)
  switch (media.type) {
    case 'application/x-www-form-urlencoded':
      return (bytes) => ({ keywords: parseUrlEncoded(decodeUtf8(bytes), options.absentIfEmpty) })
    case 'text/plain':
      return use === 'positionals' ? (bytes) => ({ positionals: [decodeUtf8(bytes)] }) : undefined
    default:
      return undefined
  }
}

function fromJson(value: unknown, use: DecodeOptions['use']): DecodedBody {
  if (isRecord(value)) return { keywords: value }
  if (use !== 'positionals') throw new CallError(400, PROBLEM_TEXTS.bodyNotObject)
  if (!Array.isArray(value)) return { positionals: [value] }
  if (value.length <= POSITIONALS_MAX) return { positionals: value }
  throw new CallError(400, PROBLEM_TEXTS.tooManyPositionals({ max: POSITIONALS_MAX }))
}

function isRecord(value: unknown): value is Keywords {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
