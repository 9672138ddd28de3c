import { audienceTooLong } from '../request-errors.ts'

/** The longest audience that fits into the index of the list of users. */
export const AUDIENCE_LENGTH_MAX = 255

/** Requires an audience that fits into the index of the list of users. @throws audienceTooLong */
export function requireAudience(audience: string): string {
  if (audience.length <= AUDIENCE_LENGTH_MAX) return audience
  throw audienceTooLong({ max: AUDIENCE_LENGTH_MAX })
}
