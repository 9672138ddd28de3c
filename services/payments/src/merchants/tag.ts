/**
 * The tag of the merchant that an id belongs to: its last eight digits. A seeded id may belong to another
 * merchant (`id_aliases`).
 */
export function tagOf(id: string): string {
  return id.slice(-8)
}
