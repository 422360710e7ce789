/** Longer than the tones and the start of the loudspeakers take. */
const closeAfterMs = 3_000

/** Two short tones. A browser that allows no sound plays none. */
export function playTone(): void {
  const audio = new AudioContext()
  const seconds = 0.16
  for (const [index, hertz] of [660, 990].entries()) {
    const tone = audio.createOscillator()
    const volume = audio.createGain()
    tone.frequency.value = hertz
    volume.gain.setValueAtTime(0.2, audio.currentTime + index * seconds)
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + (index + 1) * seconds)
    tone.connect(volume).connect(audio.destination)
    tone.start(audio.currentTime + index * seconds)
    tone.stop(audio.currentTime + (index + 1) * seconds)
  }
  // The tones of a context that the browser suspends never end, and would all sound once it allows them.
  setTimeout(() => void audio.close(), closeAfterMs)
}
