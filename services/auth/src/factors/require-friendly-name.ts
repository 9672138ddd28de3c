import { validationFailed } from '../errors.ts'

const NAME_LENGTH_MAX = 120

/** The name that a person gives a factor or a passkey. @throws validationFailed */
export function requireFriendlyName(name: string): string {
  if ([...name].length <= NAME_LENGTH_MAX) return name
  throw validationFailed({ message: `friendly_name may not be longer than ${NAME_LENGTH_MAX} characters` })
}
