import { z } from 'zod'

/** A location on the wire. */
export const LocationView = z
  .object({
    id: z.int().min(1),
    code: z.string().max(64),
    name: z.string().max(255),
    active: z.boolean().meta({ description: 'Whether it takes stock' }),
  })
  .meta({ id: 'Location' })

export type Location = z.infer<typeof LocationView>

/** What POST /locations answers. */
export const LocationCreatedView = z
  .object({ id: z.int().min(1), message: z.string() })
  .meta({ id: 'LocationCreated', examples: [{ id: 2, message: 'Location 2 was created.' }] })
