import type { HttpErrorOptions } from '@trestle/common/errors/define-error.ts'
import { z } from 'zod'
import { duplicateCode, locationChanged, locationNotFound } from '../errors.ts'

/** The fields of a new location. */
export interface NewLocation {
  readonly code: string
  readonly name: string
  /** Whether it takes stock. */
  readonly active: boolean
}

/** The members of a location that change; undefined keeps a member. */
export type LocationChange = { readonly [Member in keyof NewLocation]?: NewLocation[Member] | undefined }

/** The location of a change or deletion. */
export interface LocationTarget {
  readonly id: number
  /** The versions that the change may be based on; undefined accepts any version. */
  readonly versions: readonly number[] | undefined
}

/** Why a location is not changed or deleted. `stale`: it has another version. */
export type LocationRefusal = 'not-found' | 'stale'

/**
 * Requires that a query has found a location, or that the verdict of a SQL function does not say that there is none.
 * @param details what the error says beside its text, such as the line of a batch
 * @returns `found` as it is
 * @throws locationNotFound
 */
export function requireLocation<Found>(
  found: Found | 'not-found' | 'location-not-found' | undefined,
  details: HttpErrorOptions['details'] = {},
): Found {
  if (found === undefined || found === 'not-found' || found === 'location-not-found')
    throw locationNotFound({ details })
  return found
}

/**
 * The verdict of a change or deletion that may be based on certain versions only.
 * @throws locationNotFound when there is no such location, locationChanged when it has another version
 */
export function requireSameLocation<Found>(found: Found | 'not-found' | 'stale'): Found {
  const current = requireLocation(found)
  if (current === 'stale') throw locationChanged()
  return current
}

/**
 * The verdict on a write of a code, or what was written.
 * @throws duplicateCode when another location has the code
 */
export function requireFreeCode<Written>(written: Written | 'duplicate-code'): Written {
  if (written === 'duplicate-code') throw duplicateCode()
  return written
}

/** A location in an answer, as `locationJson` writes it. */
export const LocationView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the location' }),
    code: z.string().max(64).meta({ description: 'Its short name, which no other location has' }),
    name: z.string().max(255).meta({ description: 'Its name, for people' }),
    active: z.boolean().meta({ description: 'Whether the location takes stock in' }),
  })
  .meta({ id: 'Location' })

/** A location, as answers show it. */
export type Location = z.infer<typeof LocationView>

/** A location with its version, which starts at 1 and grows by one with each change. */
export interface VersionedLocation extends Location {
  readonly version: number
}

/** The JSON text of a location, without its version. */
export function locationJson({ id, code, name, active }: Location): string {
  return JSON.stringify({ id, code, name, active })
}

/** The record in the answer to POST /locations. */
export const LocationCreatedView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the new location' }),
    message: z.string().meta({ description: 'What was done, for people' }),
  })
  .meta({ id: 'LocationCreated', examples: [{ id: 2, message: 'Location 2 was created.' }] })
