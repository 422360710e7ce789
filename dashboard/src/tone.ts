/** When the audio context is closed: after both tones have ended, also on an audio device that starts slowly. */
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
  // A context that the browser suspends keeps its tones, and would play all of them when the browser resumes it. So
  // each context is closed after a fixed time.
  setTimeout(() => void audio.close(), closeAfterMs)
}
