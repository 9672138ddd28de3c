import type { HttpError } from '@trestle/common/errors/define-error.ts'
import { notFound, type UnknownPath } from '../errors.ts'

/** Refuses a path that the settings leave out, as an unknown one. @throws notFound */
export function refusePath(): never {
  throw unknownPath({})
}

/** The error of a path that nothing answers, with what helps its client on. */
export function unknownPath(help: UnknownPath): HttpError {
  return notFound(help)
}
