import { audienceTooLong } from '../request-errors.ts'

const LENGTH_MAX = 255

/** Requires an audience that fits into the index of the list of users. @throws audienceTooLong */
export function requireAudience(audience: string): string {
  if (audience.length <= LENGTH_MAX) return audience
  throw audienceTooLong({ max: LENGTH_MAX })
}
