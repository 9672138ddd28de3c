/** The HTML in the main part of a page. */
export function mainOf(page: string): string {
  return /<main[^>]*>(.*)<\/main>/s.exec(page)?.[1] ?? ''
}

/** All that a page shows to a reader: the text of its main part, with one space between its pieces. */
export function pageText(page: string): string {
  return mainOf(page)
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}
