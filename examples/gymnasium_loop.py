"""Run random actions in the Gymnasium environment on a synthetic market.

The NAV equals the product of `1 + reward`. The last bar is rendered as an image.
"""

import gymnasium
import numpy as np

env = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2", n_symbols=6, n_days=500, render_mode="rgb_array")
observation, info = env.reset(seed=0)
env.action_space.seed(0)
rewards = []
done = False
while not done:
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    rewards.append(reward)
    done = terminated or truncated

print(f"{len(rewards)} steps, NAV {info['nav']:.3f}, product of 1 + reward {np.prod(1 + np.array(rewards)):.3f}")
print(f"image of shape {env.render().shape}")
