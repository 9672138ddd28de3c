const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Makes text from outside safe for a terminal, on one line. It replaces control characters, which could move the cursor or hide
 * text, and characters that change the text direction. They become escapes such as `\u{1b}`.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** Writes valid JSON that is safe for a terminal: unprintable characters become escapes such as `\u001b`. */
export function printableJson(value: object, replacer?: (name: string, member: unknown) => unknown): string {
  return JSON.stringify(value, replacer).replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, at) => escapeUnit(character.charCodeAt(at))).join(''),
  )
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
