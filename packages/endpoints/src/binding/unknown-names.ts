import { closestMatch } from 'leven'
import { VALUE_TEXTS } from '../error-texts.ts'
import type { Issue } from '../errors.ts'
import { issuePath } from './binding.ts'

/** Comparing takes time with the square of the length, and a client chooses how many names it sends. */
const COMPARED_LENGTH_MAX = 64
const COMPARED_MAX = 20

/** The issues of keywords that a handler does not take. A misspelt one names the keyword that it probably means. */
export function unknownNames(names: readonly string[], known: ReadonlySet<string>): Issue[] {
  return names.map((name, at) => {
    const meant = at < COMPARED_MAX && name.length <= COMPARED_LENGTH_MAX ? findMeant(name, known) : undefined
    return {
      path: issuePath(name),
      message: meant === undefined ? VALUE_TEXTS.unknown : VALUE_TEXTS.misspelt({ meant }),
    }
  })
}

/** The name of which at most a third of the letters differ, capitals aside. */
function findMeant(name: string, known: ReadonlySet<string>): string | undefined {
  const distanceMax = Math.floor(name.length / 3)
  const capital = [...known].find((each) => each.toLowerCase() === name.toLowerCase())
  return capital ?? closestMatch(name, [...known], { maxDistance: distanceMax })
}
