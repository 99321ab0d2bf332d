#include "colors.inc"
camera { location <0, 2, -6> look_at <0, 1, 0> }
light_source { <4, 8, -6> color White }
plane { y, 0 pigment { checker color White color Gray } }
#declare i = 0;
#while (i < 6)
  sphere { <i - 2.5, 0.8, sin(i)>, 0.6 pigment { color rgb <i / 6, 0.4, 0.7> } finish { reflection 0.3 } }
  #declare i = i + 1;
#end
