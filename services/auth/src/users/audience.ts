import { validationFailed } from '../errors.ts'

const LENGTH_MAX = 255

/** An audience that a user may have: the list of users is ordered by it, in an index whose entries are bounded. @throws validationFailed */
export function requireAudience(audience: string): string {
  if (audience.length <= LENGTH_MAX) return audience
  throw validationFailed({ message: `An audience may not be longer than ${LENGTH_MAX} characters` })
}
