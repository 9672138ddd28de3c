import { z } from 'zod'

/** A named schema: the OpenAPI document refers to it. */
export const Note = z.object({ id: z.int(), text: z.string(), made: z.iso.datetime() }).meta({ id: 'Note' })

/** A note, as the API takes and returns it. */
export type Note = z.output<typeof Note>
