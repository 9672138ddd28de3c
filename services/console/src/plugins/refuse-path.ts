import { pageNotFound } from '../errors.ts'

/** Refuses an address whose last part names nothing, as an unknown one. @throws pageNotFound */
export function refusePath(): never {
  throw pageNotFound()
}
