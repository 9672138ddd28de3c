import { z } from 'zod'

/** The query of an endpoint that has no parameters: whatever is given is refused, as lists refuse what they do not know. */
export const NoQuery = z.strictObject({})
