import table from './countries.json' with { type: 'json' }

/** The codes of all countries where a company may be registered. */
export const COUNTRIES: readonly string[] = table.countries.map(({ code }) => code)
const CODES: ReadonlySet<string> = new Set(COUNTRIES)

/** Whether this is a country code of ISO 3166-1 (two upper-case letters) where a company may be registered. */
export function isCountry(code: string): boolean {
  return CODES.has(code)
}
