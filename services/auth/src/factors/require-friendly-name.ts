import { factorNameTaken, validationFailed } from '../errors.ts'
import type { Factor } from './factor.ts'

const NAME_LENGTH_MAX = 120

/** Checks the name that a user gives a factor or a passkey. @throws validationFailed */
export function requireFriendlyName(name: string): string {
  if ([...name].length <= NAME_LENGTH_MAX) return name
  throw validationFailed({ message: `friendly_name may not be longer than ${NAME_LENGTH_MAX} characters` })
}

/**
 * Checks that no other factor of the user has a name. No index can check that for recovery codes, which have their own table.
 * @throws factorNameTaken
 */
export function requireFreeName(name: string, others: readonly Pick<Factor, 'friendlyName'>[]): void {
  if (name.trim() !== '' && others.some(({ friendlyName }) => friendlyName === name)) throw friendlyNameTaken(name)
}

/** The error for a name that another factor of the user has. */
export function friendlyNameTaken(name: string): Error {
  return factorNameTaken({ message: `A factor with the friendly name "${name}" for this user already exists` })
}
