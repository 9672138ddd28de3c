import table from './countries.json' with { type: 'json' }

/** The codes of all countries where a company may be registered. */
export const COUNTRIES: readonly string[] = table.countries.map(({ code }) => code)
const CODES: ReadonlySet<string> = new Set(COUNTRIES)

/** Returns whether the text is the code of a country where a company may be registered: two upper-case letters (ISO 3166-1). */
export function isCountry(code: string): boolean {
  return CODES.has(code)
}
