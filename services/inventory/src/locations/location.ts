import type { HttpErrorOptions } from '@trestle/common/errors/define-error.ts'
import { z } from 'zod'
import { duplicateCode, locationChanged, locationNotFound } from '../errors.ts'

export interface NewLocation {
  readonly code: string
  readonly name: string
  readonly active: boolean
}

/** A change of a location. Members that are `undefined` stay unchanged. */
export type LocationChange = { readonly [Member in keyof NewLocation]?: NewLocation[Member] | undefined }

export interface LocationTarget {
  readonly id: number
  /** The expected versions. `undefined` accepts any version. */
  readonly versions: readonly number[] | undefined
}

/** `stale`: the version of the location differs from the expected versions. */
export type LocationRefusal = 'not-found' | 'stale'

/**
 * @param found a location from a query, or the verdict of a SQL function
 * @param details additional members of the error, such as the line of a batch
 * @returns `found`
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
 * @param found the verdict of a change or deletion with expected versions
 * @throws locationNotFound, or locationChanged if the version differs
 */
export function requireSameLocation<Found>(found: Found | 'not-found' | 'stale'): Found {
  const current = requireLocation(found)
  if (current === 'stale') throw locationChanged()
  return current
}

/** @throws duplicateCode if another location has the code */
export function requireFreeCode<Written>(written: Written | 'duplicate-code'): Written {
  if (written === 'duplicate-code') throw duplicateCode()
  return written
}

export const LocationView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the location' }),
    code: z.string().max(64).meta({ description: 'Its short name, which no other location has' }),
    name: z.string().max(255).meta({ description: 'Its name, for people' }),
    active: z.boolean().meta({ description: 'Whether the location takes stock in' }),
  })
  .meta({ id: 'Location' })

export type Location = z.infer<typeof LocationView>

/** A location with its version, which starts at 1 and increases by one with each change. */
export interface VersionedLocation extends Location {
  readonly version: number
}

export function locationJson({ id, code, name, active }: Location): string {
  return JSON.stringify({ id, code, name, active })
}

export const LocationCreatedView = z
  .object({
    id: z.int().min(1).meta({ description: 'The id of the new location' }),
    message: z.string().meta({ description: 'What was done, for people' }),
  })
  .meta({ id: 'LocationCreated', examples: [{ id: 2, message: 'Location 2 was created.' }] })
