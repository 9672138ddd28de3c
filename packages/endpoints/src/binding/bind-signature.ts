import { type Issue, ValidationError } from '../errors.ts'
import { type Arguments, type Binding, issuePath, REQUIRED, UNKNOWN } from './binding.ts'
import { type Keywords, noKeywords } from './keywords.ts'
import type { KeywordPattern, Signature } from './signature.ts'

/** Binds by the shape of the parameter list; values stay what they are. */
export function bindSignature({ min, max, names, keywords: pattern }: Signature): Binding {
  const bind = (positionals: Arguments, keywords: Keywords): Arguments => {
    // Most requests have none, and most handlers take none.
    if (pattern === undefined && keywords === noKeywords) return positionals
    checkNames(keywords, pattern)
    if (pattern === undefined) return positionals
    const { index } = pattern
    if (index === 0) return [keywords, ...positionals]
    // Absent optional positionals are undefined: their defaults apply, and the keywords stay in their place.
    const before = Array.from({ length: index }, (_, i) => positionals[i])
    return [...before, keywords, ...positionals.slice(index)]
  }
  return { min, max, places: names.length, keywords: pattern, body: 'keywords', bind }
}

function checkNames(keywords: Keywords, pattern: KeywordPattern | undefined): void {
  const issues: Issue[] = []
  if (!pattern?.open) {
    for (const name in keywords) {
      if (!pattern?.known.has(name)) issues.push({ path: issuePath(name), message: UNKNOWN })
    }
  }
  for (const name of pattern?.required ?? []) {
    if (!(name in keywords)) issues.push({ path: name, message: REQUIRED })
  }
  if (issues.length > 0) throw new ValidationError(issues)
}
