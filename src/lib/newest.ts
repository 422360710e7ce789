/** Sets an entry of a map. If the map then has more than `max`, the entry that was set the longest ago is deleted. */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  // Deleting and setting again keeps the map in the order of the last change.
  map.delete(key)
  map.set(key, value)
  const oldest = map.size > max ? map.keys().next() : undefined
  if (oldest && !oldest.done) map.delete(oldest.value)
}
