import { notFound } from '../errors.ts'

/** Refuses a path that the settings leave out, as an unknown one. @throws notFound */
export function refusePath(): never {
  throw notFound()
}
