import { closestMatch } from 'leven'

/** The word that a misspelt one probably means: at most a third of its letters differ. Undefined when none is that near. */
export function findSuggestion(word: string, known: readonly string[]): string | undefined {
  return closestMatch(word, known, { maxDistance: Math.floor(word.length / 3) })
}
