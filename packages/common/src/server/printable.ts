const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Text from outside for a person's terminal, on one line: control characters, which could move the cursor or hide what was
 * printed, and characters that turn the direction of writing are spelled out, as `\u{1b}`.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}
