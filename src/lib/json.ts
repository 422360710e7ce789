/** JSON with the members of every object in one order, so that equal contents give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => (isObject(member) ? sortMembers(member) : member))
}

/**
 * The paths at which two JSON values differ, as far down as objects go on both sides: `customer.email`, `items`.
 * Never the values themselves.
 */
export function differingPaths(left: unknown, right: unknown, path = ''): string[] {
  if (!isObject(left) || !isObject(right)) return canonicalJson(left) === canonicalJson(right) ? [] : [path]
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort()
  return names.flatMap((name) => differingPaths(left[name], right[name], path === '' ? name : `${path}.${name}`))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function sortMembers(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0)),
  )
}
