import { z } from 'zod'
import { metadataTooLarge } from '../request-errors.ts'

/** Metadata in a body or an answer: any names, any JSON. */
export const Metadata = z.record(z.string(), z.unknown())

type Metadata = Readonly<z.output<typeof Metadata>>

const BYTES_MAX = 65_536
/** The limit of a body with metadata. Escapes may make the metadata four times as long. */
export const METADATA_BODY_BYTES_MAX = 4 * BYTES_MAX

/** Metadata enters the access token, so its size is bounded. @throws metadataTooLarge above 64 KiB of JSON */
export function requireMetadata(data: Metadata | undefined): Metadata {
  if (data === undefined) return {}
  if (Buffer.byteLength(JSON.stringify(data)) > BYTES_MAX) throw metadataTooLarge({ max: BYTES_MAX })
  return data
}

/**
 * Merges changes into metadata, key by key. Null deletes a key (reference: Metadata).
 * @throws metadataTooLarge when the result is above 64 KiB of JSON
 */
export function mergeMetadata(stored: Metadata, changes: Metadata | undefined): Record<string, unknown> {
  const merged = { ...stored, ...changes }
  return { ...requireMetadata(Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null))) }
}
