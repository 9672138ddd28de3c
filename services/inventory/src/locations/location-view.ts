import { z } from 'zod'

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
