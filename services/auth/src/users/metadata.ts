import type { OperatorRole } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import type { Behaviours } from '../config/behaviours.ts'
import { consoleRoleReserved } from '../operator-errors.ts'
import { metadataTooLarge } from '../request-errors.ts'

/** Metadata in a body or an answer: any names, any JSON. */
export const Metadata = z.record(z.string(), z.unknown())

type Metadata = Readonly<z.output<typeof Metadata>>

/** The part of the configuration that bounds metadata, in bytes of JSON. */
export interface MetadataRules {
  readonly behaviours: Pick<Behaviours, 'metadataBytesMax'>
}

/** Metadata enters the access token, so its size is bounded. @throws metadataTooLarge above the limit of the profile, as JSON */
export function requireMetadata({ behaviours }: MetadataRules, data: Metadata | undefined): Metadata {
  const { metadataBytesMax: max } = behaviours
  if (data === undefined) return {}
  if (Buffer.byteLength(JSON.stringify(data)) > max) throw metadataTooLarge({ max })
  return data
}

/**
 * Merges changes into metadata, key by key. Null deletes a key (reference: Metadata).
 * @throws metadataTooLarge when the result is above the limit of the profile
 */
export function mergeMetadata(
  rules: MetadataRules,
  stored: Metadata,
  changes: Metadata | undefined,
): Record<string, unknown> {
  const merged = { ...stored, ...changes }
  return { ...requireMetadata(rules, Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== null))) }
}

/** The member of `app_metadata` that shows the console role of an operator. */
const CONSOLE_ROLE = 'console_role'

/** Metadata without a console role: whatever wrote one there gives nobody a role. */
export function withoutConsoleRole(metadata: Metadata): Metadata {
  if (!(CONSOLE_ROLE in metadata)) return metadata
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== CONSOLE_ROLE))
}

/**
 * The changes of `app_metadata` that an admin may make. A client may send back the console role that it has read.
 * @param consoleRole the console role of the user, null for none
 * @throws consoleRoleReserved for another console role
 */
export function requireOwnConsoleRole(changes: Metadata, consoleRole: OperatorRole | null): Metadata {
  const { [CONSOLE_ROLE]: wanted = consoleRole } = changes
  if (wanted !== consoleRole) throw consoleRoleReserved()
  return withoutConsoleRole(changes)
}
