import { closestMatch } from 'leven'

/** The known word closest to a misspelt one, if at most a third of the letters differ, otherwise `undefined`. */
export function findSuggestion(word: string, known: readonly string[]): string | undefined {
  return closestMatch(word, known, { maxDistance: Math.floor(word.length / 3) })
}
