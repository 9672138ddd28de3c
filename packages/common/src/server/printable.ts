const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Text from outside for a person's terminal, on one line: control characters, which could move the cursor or hide what was
 * printed, and characters that turn the direction of writing are spelled out, as `\u{1b}`.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** The same for a value as JSON, which stays JSON: such characters stand there as `\u001b`. */
export function printableJson(value: object, replacer?: (name: string, member: unknown) => unknown): string {
  return JSON.stringify(value, replacer).replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, at) => escapeUnit(character.charCodeAt(at))).join(''),
  )
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
